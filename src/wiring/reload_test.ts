/**
 * When a configuration is read, taken and told, with time and files that the
 * test holds in its hands. Real gateways are reloaded in `tests/admin`.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import { LOAD_NAMES } from "../cli/load_names.ts";
import type { Config } from "../config/config.ts";
import { parseConfig } from "../config/parse.ts";
import { type LoadedConfig, Reloader } from "./reload.ts";

function configOf(document: unknown): Config {
  const result = parseConfig(document, { names: LOAD_NAMES });
  assert(result.kind === "accepted");
  return result.config;
}

function accepted(document: unknown): LoadedConfig {
  return { kind: "accepted", config: configOf(document), warnings: [] };
}

function world(document: unknown = {}) {
  const clock = new VirtualClock();
  const events: string[] = [];
  /** Readings that wait for the test. */
  const asked: PromiseWithResolvers<LoadedConfig>[] = [];
  const applied: Config[] = [];
  let refusal: Error | undefined;
  const reloader = new Reloader({
    config: configOf(document),
    outside: { clock, log: (_level, event) => events.push(event) },
    load() {
      const reading = Promise.withResolvers<LoadedConfig>();
      asked.push(reading);
      return reading.promise;
    },
    apply(config) {
      if (refusal !== undefined) throw refusal;
      applied.push(config);
    },
    begun: () => events.push("begun"),
    ended: () => events.push("ended"),
  });
  const answer = async (loaded: LoadedConfig) => {
    asked.shift()?.resolve(loaded);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  const refuse = (error: Error | undefined) => refusal = error;
  return { applied, answer, asked, clock, events, refuse, reloader };
}

const OTHER = { routing: { imbalance: 2 } };

test("Reloader takes what has changed, keeps what is fixed, and tells both", async () => {
  const { answer, applied, events, reloader } = world();
  const reloading = reloader.reload("signal");
  await answer(accepted({ ...OTHER, workers: 7 }));
  assertEquals(await reloading, {
    kind: "reloaded",
    changes: ["routing.imbalance: 1.25 -> 2"],
    needsRestart: ["workers: auto -> 7"],
    complaints: [],
  });
  assertEquals(applied.length, 1);
  assertEquals(reloader.config, applied[0]);
  assertEquals(reloader.config.workers, "auto");
  assertEquals(events, [
    "begun",
    "config.reloaded",
    "config.needs_restart",
    "config.changed",
    "ended",
  ]);
  const again = reloader.reload("admin");
  await answer(accepted({ ...OTHER, workers: 7 }));
  const { changes, kind, needsRestart } = await again;
  assertEquals([kind, changes.length, needsRestart.length], [
    "unchanged",
    0,
    1,
  ]);
  assertEquals(applied.length, 1);
});

test("Reloader changes nothing by what is refused, and shows it until it is mended", async () => {
  const { answer, applied, asked, clock, events, refuse, reloader } = world();
  const refusals: [how: () => Promise<unknown> | void, complaint: RegExp][] = [
    [
      () => answer({ kind: "refused", complaints: ["Cannot use a", "b"] }),
      /^Cannot use a; b$/,
    ],
    [
      async () => {
        await clock.advance(10_000);
        asked.shift();
      },
      /^Cannot read the configuration in 10000 ms$/,
    ],
    [
      () => answer(Promise.reject(new Error("No disk")) as never),
      /^Cannot read the configuration: No disk$/,
    ],
    [
      () => {
        refuse(new RangeError("Cannot keep 300 endpoints"));
        return answer(accepted(OTHER));
      },
      /^Cannot keep 300 endpoints$/,
    ],
  ];
  for (const [at, [how, complaint]] of refusals.entries()) {
    const reloading = reloader.reload("file");
    await how();
    const outcome = await reloading;
    assertEquals(outcome.kind, "refused");
    assert(complaint.test(reloader.report.complaint ?? ""), `${at}`);
    assertEquals(reloader.report.refused, at + 1);
  }
  assertEquals(applied, []);
  assertEquals(events.length, refusals.length);
  refuse(undefined);
  const mended = reloader.reload("file");
  await answer(accepted({}));
  assertEquals((await mended).kind, "unchanged");
  assertEquals(reloader.report.complaint, undefined);
  assertEquals(events.at(-1), "config.unchanged");
  assertEquals(clock.timerCount, 0);
});

test("Reloader leaves it to a restart to take all endpoints away", async () => {
  const endpoint = (id: string) => ({ id, url: `http://127.0.0.1/${id}` });
  const table: [
    from: readonly string[],
    to: readonly string[],
    kind: string,
  ][] = [
    [["a", "b"], [], "refused"],
    [["a"], [], "refused"],
    [["a", "b"], ["a"], "reloaded"],
    [["a"], ["b"], "reloaded"],
    [[], ["a"], "reloaded"],
    [[], [], "unchanged"],
  ];
  for (const [from, to, kind] of table) {
    const given = world({ endpoints: from.map(endpoint) });
    const reloading = given.reloader.reload("file");
    await given.answer(accepted({ endpoints: to.map(endpoint) }));
    const outcome = await reloading;
    assertEquals(outcome.kind, kind, `${from} to ${to}`);
    if (kind !== "refused") continue;
    assertEquals(given.applied, []);
    const told = outcome.complaints.join();
    assertMatch(told, /^Cannot take away all endpoints .* a restart takes$/);
  }
});

test("Reloader says nothing of a file that says the same", async () => {
  const { answer, events, reloader } = world();
  const reloading = reloader.reload("file");
  await answer(accepted({}));
  assertEquals((await reloading).kind, "unchanged");
  assertEquals([events, reloader.report.unchanged], [[], 0]);
});

test("Reloader reads once more for all who ask during a reading", async () => {
  const { answer, applied, asked, events, reloader } = world();
  const first = reloader.reload("file");
  const rest = [
    reloader.reload("file"),
    reloader.reload("signal"),
    reloader.reload("admin"),
  ];
  assertEquals(asked.length, 1);
  await answer(accepted(OTHER));
  await first;
  assertEquals(asked.length, 1);
  // Asked for once the second has begun, so it comes after that.
  const last = reloader.reload("admin");
  await answer(accepted({ routing: { imbalance: 3 } }));
  const outcomes = await Promise.all(rest);
  assertEquals(new Set(outcomes).size, 1);
  assertEquals(events.filter((event) => event === "begun").length, 2);
  await answer(accepted({ routing: { imbalance: 4 } }));
  await last;
  assertEquals(applied.map(({ routing }) => routing.imbalance), [2, 3, 4]);
  assertEquals(asked.length, 0);
});

test("Reloader reads one at a time, also for whoever asks right at the end of one", async () => {
  const { answer, applied, asked, reloader } = world();
  const first = reloader.reload("admin");
  const atItsEnd = first.then(() => reloader.reload("admin"));
  const second = reloader.reload("admin");
  await answer(accepted(OTHER));
  assertEquals(asked.length, 1);
  await answer(accepted({ routing: { imbalance: 3 } }));
  await second;
  await answer(accepted({ routing: { imbalance: 4 } }));
  await atItsEnd;
  assert(applied.length >= 2);
  assertEquals(asked.length, 0);
});

test("Reloader changes nothing once it is stopped", async () => {
  const { answer, applied, events, reloader } = world();
  const reloading = reloader.reload("signal");
  reloader.stop();
  await answer(accepted(OTHER));
  assertEquals((await reloading).kind, "refused");
  assertEquals([applied, events], [[], ["begun", "ended"]]);
});
