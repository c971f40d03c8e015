/**
 * Tests of the pictures of `tryst top`, of its rates and of its keys.
 *
 * Invariant: golden pictures are compared as a whole, at the smallest size,
 * the usual one and one that is too small.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import {
  MADE_UP,
  madeUpEndpoint,
  madeUpStatus,
} from "../../../tests/terminal/made_up_status.ts";
import { keysOf } from "./terminal_keys.ts";
import { topFrame, type TopView } from "./top_frame.ts";
import { endpointRates, gatewayRates } from "./top_rates.ts";
import { FIRST_STATE, pressed, type TopState } from "./top_state.ts";
import { SORT_NAMES, topTable } from "./top_table.ts";
import { plainText, shown } from "./top_text.ts";

const { now: MADE_UP_STATUS, former: FORMER_STATUS } = MADE_UP;

const USUAL: TopView = {
  status: MADE_UP_STATUS,
  previous: FORMER_STATUS,
  state: { ...FIRST_STATE, selected: "gpu-a" },
  size: { columns: 80, rows: 24 },
  hasColor: false,
};

const GOLDEN_80 = `\
tryst 0.1.0  ready  up 2h3m  workers 2/2  memory 118 MiB
requests 120.0/s  failed 2.0/s  TTFB 100ms  out 1.1 MiB/s
in flight 16  waiting 3, 1.3s  hits 90%  sessions 1,240/262,144

  ENDPOINT        STATE    FLY  LIMIT  SESS  TRY/S  FAIL/S   TTFB  HIT  RUN   KV
> gpu-a           ready     12     32   120  100.0     2.0      -   0%    4  42%
  gpu-b           ready      4    ~32   120   50.0     0.0  240ms  80%    4  42%
  http://10.0.0~  ejected    0   none   120      -       -      -    -    -    -

  UNDER WAY
     4s relay    gpu-a          1a2b3c4d POST /v1/chat/completions

  FAILURES
   1m5s upstream_refused     http://10.0.0.7:8000 Connection refused (os error ~









q quit s sort:ENDPOINT r reverse arrows d drain u restore`;

const GOLDEN_60 = `\
tryst 0.1.0  ready  up 2h3m  workers 2/2  memory 118 MiB
requests 120.0/s  failed 2.0/s  TTFB 100ms  out 1.1 MiB/s
in flight 16  waiting 3, 1.3s  hits 90%  sessions 1,240/262~

  ENDPOINT           STATE    FLY  LIMIT  SESS  TRY/S   TTFB
  gpu-b              ready      4    ~32   120   50.0  240ms
  gpu-a              ready     12     32   120  100.0      -
  http://10.0.0.7:~  ejected    0   none   120      -      -

  FAILURES
   1m5s upstream_refused     http://10.0.0.7:8000 Connectio~



Drain endpoint "gpu-b"? y/n`;

test("topFrame() is as it was, at the usual and at the smallest size", () => {
  assertEquals(topFrame(USUAL).join("\n"), GOLDEN_80);
  const state: TopState = {
    ...FIRST_STATE,
    sort: { column: "TTFB", isReversed: false },
    question: { change: "drain", id: "gpu-b" },
  };
  const small = { ...USUAL, state, size: { columns: 60, rows: 15 } };
  assertEquals(topFrame(small).join("\n"), GOLDEN_60);
});

test("topFrame() shows what is wrong in place of the keys", () => {
  const state = { ...FIRST_STATE, notice: "Cannot reach a gateway\x1b[2J" };
  assertEquals(
    topFrame({ ...USUAL, state }).at(-1),
    "Cannot reach a gateway?[2J",
  );
  const status = { ...MADE_UP_STATUS, isReady: false };
  assertMatch(topFrame({ ...USUAL, status })[0] ?? "", / {2}NOT READY {2}/);
});

test("topFrame() marks lines only where colors may be used", () => {
  assertEquals(topFrame(USUAL).join("").includes("\x1b"), false);
  const colored = topFrame({ ...USUAL, hasColor: true });
  assertEquals(colored[5]?.startsWith("\x1b[7m> gpu-a"), true);
  assertEquals(colored[6]?.startsWith("\x1b[32m  gpu-b"), true);
  assertEquals(colored[7]?.startsWith("\x1b[31m  http"), true);
  // deno-lint-ignore no-control-regex -- the marks are control sequences.
  const bare = colored.map((line) => line.replace(/\x1b\[\d+m/g, ""));
  assertEquals(bare, topFrame(USUAL));
});

test("topFrame() keeps the selected endpoint in sight", () => {
  const endpoints = Array.from(
    { length: 100 },
    (_, at) => madeUpEndpoint(`gpu-${String(at).padStart(2, "0")}`),
  );
  const status = madeUpStatus(endpoints);
  for (const id of ["gpu-00", "gpu-08", "gpu-09", "gpu-50", "gpu-99"]) {
    const state = { ...FIRST_STATE, selected: id };
    const size = { columns: 60, rows: 15 };
    const frame = topFrame({ ...USUAL, status, state, size });
    assertEquals(frame.filter((line) => line.startsWith("> ")).length, 1, id);
    assert(frame.some((line) => line.startsWith(`> ${id}`)), id);
  }
});

test("topFrame() fits any terminal, whatever is in the status", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 });
  fc.assert(fc.property(
    fc.record({
      columns: fc.integer({ min: 1, max: 200 }),
      rows: fc.integer({ min: 1, max: 60 }),
    }),
    fc.array(fc.record({ id: text, cause: text }), { maxLength: 40 }),
    fc.constantFrom(...SORT_NAMES),
    fc.boolean(),
    (size, items, column, isReversed) => {
      const status = madeUpStatus(items.map(({ id }) => madeUpEndpoint(id)), {
        live: MADE_UP_STATUS.live.concat(items.map(({ id }) => ({
          ...(MADE_UP_STATUS.live[0] ?? never()),
          path: id,
        }))),
        failures: items.map(({ id, cause }) => ({
          ...(MADE_UP_STATUS.failures[0] ?? never()),
          code: id,
          cause,
        })),
      });
      const state = {
        ...FIRST_STATE,
        sort: { column, isReversed },
        selected: items[0]?.id,
      };
      const frame = topFrame({ ...USUAL, status, state, size });
      assertEquals(frame.length, size.rows);
      for (const line of frame) {
        assert(line.length <= size.columns, line);
        assert(!/\p{C}/u.test(line), JSON.stringify(line));
      }
    },
  ));
});

test("rates are those between two looks at one run of the gateway", () => {
  assertEquals(gatewayRates(MADE_UP_STATUS, FORMER_STATUS), {
    receivedPerS: 120,
    failedPerS: 2,
    bytesPerS: 1_200_000,
    firstByteMs: 100,
    hitShare: 0.9,
  });
  const none = {
    receivedPerS: undefined,
    failedPerS: undefined,
    bytesPerS: undefined,
    firstByteMs: undefined,
    hitShare: undefined,
  };
  assertEquals(gatewayRates(MADE_UP_STATUS, undefined), none);
  assertEquals(gatewayRates(MADE_UP_STATUS, MADE_UP_STATUS), none);
  const other = { ...FORMER_STATUS, startedAtMs: 1 };
  assertEquals(gatewayRates(MADE_UP_STATUS, other), none);
  // Totals that shrank are not the same totals.
  assertEquals(
    gatewayRates(FORMER_STATUS, {
      ...MADE_UP_STATUS,
      nowMs: FORMER_STATUS.nowMs - 1,
    }),
    none,
  );
});

test("rates of an endpoint need it to have been there before", () => {
  const rows: [string, number | undefined, number | undefined][] = [
    ["gpu-a", 100, 2],
    ["gpu-b", 50, 0],
    ["http://10.0.0.7:8000", undefined, undefined],
  ];
  for (const [id, attempts, failures] of rows) {
    const endpoint = MADE_UP_STATUS.endpoints.find((one) => one.id === id) ??
      never();
    const rates = endpointRates(endpoint, MADE_UP_STATUS, FORMER_STATUS);
    assertEquals([rates.attemptsPerS, rates.failuresPerS], [
      attempts,
      failures,
    ]);
  }
});

test("topTable() orders by each column, both ways, unknowns at the end", () => {
  const order = (column: string, isReversed: boolean) =>
    topTable({ ...USUAL, sort: { column, isReversed } }, 400)
      .rows.map(({ id }) => id.replace("http://10.0.0.7:8000", "gpu-c").at(-1))
      .join("");
  const table: [string, string, string][] = [
    ["ENDPOINT", "abc", "cba"],
    ["STATE", "cab", "abc"],
    ["FLY", "abc", "cba"],
    ["SESS", "abc", "abc"],
    ["TRY/S", "abc", "bac"],
    ["FAIL/S", "abc", "bac"],
    ["TTFB", "bac", "bac"],
  ];
  assertEquals(table.map(([name]) => name), [...SORT_NAMES]);
  for (const [name, plain, reversed] of table) {
    assertEquals(
      [order(name, false), order(name, true)],
      [plain, reversed],
      name,
    );
  }
});

test("pressed() asks before it changes anything, and about one endpoint", () => {
  const ids = ["a", "b"];
  const play = (keys: string, from: TopState = FIRST_STATE) => {
    let state = from;
    const actions: unknown[] = [];
    for (const key of keys.split(" ")) {
      const step = pressed(state, key, ids);
      state = step.state;
      if (step.action !== undefined) actions.push(step.action);
    }
    return { state, actions };
  };
  assertMatch(play("d").state.notice ?? "", /^Select an endpoint/);
  assertEquals(play("d y").actions, []);
  assertEquals(play("down d").state.question, { change: "drain", id: "a" });
  for (const no of ["n", "escape", "q"]) {
    const { actions, state } = play(`down d ${no} y`);
    assertEquals([actions, state.question], [[], undefined], no);
  }
  // A slip leaves the question open.
  assertEquals(play("down d down x y").actions, [{ change: "drain", id: "a" }]);
  assertEquals(play("up u y").actions, [{ change: "restore", id: "b" }]);
  assertEquals(play("down down down u y y").actions, [
    { change: "restore", id: "b" },
  ]);
  assertEquals(play("down d ctrl-c").actions, ["quit"]);
  assertEquals(play("q").actions, ["quit"]);
  const gone = { ...FIRST_STATE, selected: "gone" };
  assertEquals(play("d y", gone).actions, []);
  const none = pressed(FIRST_STATE, "down", []);
  assertEquals(none.state.selected, undefined);
});

test("pressed() goes through all orders and back to the first", () => {
  let state = pressed(FIRST_STATE, "r", []).state;
  assertEquals(state.sort, { column: "ENDPOINT", isReversed: true });
  const seen = SORT_NAMES.map(() => {
    state = pressed(state, "s", []).state;
    assertEquals(state.sort.isReversed, false);
    return state.sort.column;
  });
  assertEquals(seen, [...SORT_NAMES.slice(1), "ENDPOINT"]);
});

test("keysOf() knows keys, and takes no sequence for letters", () => {
  const table: [string, string[]][] = [
    ["", []],
    ["\x1b[1;5A", []],
    ["\x1b[15~d", ["d"]],
    ["\x1b[<0;1;1Mq", ["q"]],
    ["\x1b[", []],
    ["\x00 1\x7f\xff", []],
    ["\x1b", ["escape"]],
    ["\x1b[A\x1b[B", ["up", "down"]],
    ["\x1bOA\x1bOB", ["up", "down"]],
    ["qS\x03\r", ["q", "s", "ctrl-c", "enter"]],
  ];
  for (const [text, keys] of table) {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    assertEquals(keysOf(bytes), keys, JSON.stringify(text));
  }
});

test("values are short, and a dash where nothing is known", () => {
  const table: [string, string][] = [
    [shown.count(null), "-"],
    [shown.count(NaN), "-"],
    [shown.count(1_234_567), "1,234,567"],
    [shown.count(999), "999"],
    [shown.rate(undefined), "-"],
    [shown.rate(999.94), "999.9"],
    [shown.rate(12_345.6), "12,346"],
    [shown.share(0.005), "1%"],
    [shown.share(undefined), "-"],
    [shown.bytes(1_023), "1023 B"],
    [shown.bytes(1_024), "1.0 KiB"],
    [shown.bytes(2 ** 60), "1048576 TiB"],
    [shown.took(999), "999ms"],
    [shown.took(1_000), "1.0s"],
    [shown.took(60_000), "1m0s"],
    [shown.age(-5), "0s"],
    [shown.age(3_599_000), "59m59s"],
    [shown.age(90_061_000), "1d1h"],
    [plainText(undefined), "-"],
    [plainText("a\x1b[31m\u202eb\u0301\u4e2d\u00e9"), "a?[31m?b??\u00e9"],
  ];
  for (const [text, wanted] of table) assertEquals(text, wanted);
});

function never(): never {
  throw new Error("Cannot do without it");
}
