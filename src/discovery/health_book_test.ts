/**
 * The book over a real table: what workers did in it, what operators say, and
 * what is logged and counted.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { endpointSpec, HEALTH } from "../../tests/endpoint_spec.ts";
import { test } from "../../tests/leakproof.ts";
import { VirtualClock } from "../../tests/memory_sockets.ts";
import type { EndpointSpec } from "../core/endpoint.ts";
import {
  ENDPOINTS_MAX,
  EndpointTable,
} from "../core/endpoints/endpoint_table.ts";
import type { LogFields } from "../core/outside.ts";
import { PassiveHealth } from "../core/endpoints/passive_health.ts";
import { HealthBook, type ProbeOutcome } from "./health_book.ts";

const PASSED: ProbeOutcome = { result: "passed", detail: "answered 200" };
const FAILED: ProbeOutcome = { result: "failed", detail: "answered 503" };

function spec(id: string): EndpointSpec {
  return endpointSpec(id, {
    health: {
      ...HEALTH,
      unhealthyThreshold: 2,
      failures: 2,
      backoffMaxMs: 8_000,
    },
  });
}

/** A book of the endpoints `a`, `b`, ... in slots 0, 1, ... */
function world(ids = ["a", "b"]) {
  const clock = new VirtualClock();
  const table = new EndpointTable();
  const events: [event: string, fields: LogFields][] = [];
  const book = new HealthBook({
    table,
    outside: {
      clock,
      random: () => 0.5,
      log: (_level, event, fields = {}) => events.push([event, fields]),
    },
  });
  const slotOf = (id: string) => id.charCodeAt(0) - 97;
  const list = (specs: readonly EndpointSpec[]) => book.replace(specs, slotOf);
  const replace = (ids: readonly string[]) => list(ids.map(spec));
  // Whoever gives out slots does this.
  for (const id of ids) table.setState(slotOf(id), "probing");
  replace(ids);
  return { clock, table, events, book, list, replace };
}

test("HealthBook makes endpoints ready by probes, and tells so once", () => {
  const { table, events, book } = world();
  assertEquals(book.due().map(({ id }) => id), ["a", "b"]);
  book.probed("a", FAILED);
  book.probed("a", FAILED);
  assertEquals([table.state(0), book.isReady("a")], ["probing", false]);
  book.probed("a", PASSED);
  book.probed("a", PASSED);
  assertEquals([table.state(0), book.isReady("a")], ["ready", true]);
  assertEquals(events, [
    ["endpoint.probe_failed", {
      id: "a",
      state: "probing",
      reason: "answered 503",
    }],
    ["endpoint.ready", { id: "a", reason: "answered 200" }],
  ]);
  assertEquals(book.due().map(({ id }) => id), ["b"]);
  assertEquals(Object.fromEntries(book.record("a")?.probes ?? []), {
    passed: 2,
    failed: 2,
    timed_out: 0,
  });
});

test("HealthBook takes over an ejection by traffic, and lets it back by a probe (F10 LLMKube #453)", async () => {
  const { clock, table, events, book } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  const passive = new PassiveHealth(table);
  await clock.advance(4_321);
  for (let i = 0; i < 2; i++) {
    passive.failed(0, clock.nowMs(), { code: "upstream_unreachable" });
  }
  assertEquals([table.state(0), book.isReady("a")], ["ejected", true]);
  book.look();
  book.look();
  assertEquals(book.isReady("a"), false);
  assertEquals(events.at(-1), ["endpoint.ejected", {
    id: "a",
    reason: "2 requests failed in a row, last: upstream_unreachable",
    probe_in_ms: 750,
  }]);
  assertEquals(book.record("a")?.ejections.get("failures"), 1);
  assertEquals(book.record("a")?.health.sinceMs, 4_000);
  await clock.advance(749);
  assertEquals(book.due().map(({ id }) => id), ["b"]);
  await clock.advance(1);
  assertEquals(book.due().map(({ id }) => id), ["b", "a"]);
  book.probed("a", PASSED);
  assertEquals([table.state(0), table.failures(0)], ["ready", 0]);
});

test("HealthBook tells how many failures ejected, though an answer came since", () => {
  const { table, events, book } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  const passive = new PassiveHealth(table);
  for (let i = 0; i < 2; i++) {
    passive.failed(0, 0, { code: "upstream_reset" });
  }
  passive.answered(0, 200, undefined, 0);
  book.look();
  assertEquals(
    events.at(-1)?.[1].reason,
    "2 requests failed in a row, last: upstream_reset",
  );
});

test("replace() has an endpoint that moved probed at once, and serve meanwhile", () => {
  const { table, book, list } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  assertEquals(book.due(), []);
  list([{ ...spec("a"), weight: 2 }, { ...spec("b"), basePath: "/v" }]);
  assertEquals(book.due().map(({ id }) => id), ["b"]);
  assertEquals([table.state(0), table.state(1)], ["ready", "ready"]);
});

test("HealthBook sees an ejection by traffic before a probe's result", () => {
  const { table, book } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  const passive = new PassiveHealth(table);
  for (let i = 0; i < 2; i++) passive.failed(0, 0);
  book.probed("a", FAILED);
  assertEquals(table.state(0), "ejected");
  assertEquals(book.record("a")?.ejections.get("failures"), 1);
  assertEquals(book.record("a")?.ejections.get("probe_failed"), 0);
  // Two failures of the back-off are behind it.
  assertEquals(book.record("a")?.health.backoffMs, 2_000);
});

test("an endpoint that answers requests outlives its health path (F14 devclaw #165)", async () => {
  const { clock, table, book } = world();
  const late: ProbeOutcome = { result: "timed_out", detail: "no answer" };
  book.probed("a", PASSED);
  const passive = new PassiveHealth(table);
  for (let i = 0; i < 10; i++) {
    await clock.advance(5_000);
    passive.answered(0, 200, undefined, clock.nowMs());
    book.probed("a", late);
  }
  assertEquals(table.state(0), "ready");
  await clock.advance(11_000);
  for (let i = 0; i < 2; i++) book.probed("a", late);
  assertEquals(table.state(0), "ejected");
  assertEquals(book.record("a")?.ejections.get("probe_timed_out"), 1);
});

test("draining outlives probes, lists and blinking lists (PS #601)", () => {
  const { table, events, book, replace } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  assertEquals([book.drain("x"), book.restore("x")], [false, false]);
  assertEquals(book.drain("a"), true);
  assertEquals(book.drain("a"), true);
  for (let i = 0; i < 3; i++) book.probed("a", PASSED);
  replace(["b", "a"]);
  assertEquals(table.state(0), "draining");
  replace(["b"]);
  table.setState(0, "probing");
  replace(["a", "b"]);
  book.probed("a", PASSED);
  assertEquals([table.state(0), table.state(1)], ["draining", "ready"]);
  assertEquals(book.restore("a"), true);
  assertEquals(table.state(0), "ready");
  assertEquals(
    events.filter(([, { id }]) => id === "a").map(([event]) => event),
    [
      "endpoint.ready",
      "endpoint.draining",
      "endpoint.draining",
      "endpoint.ready",
    ],
  );
});

test("an endpoint drained before it was ever well is probed when restored", () => {
  const { table, book } = world();
  book.drain("a");
  book.probed("a", FAILED);
  book.restore("a");
  assertEquals(table.state(0), "probing");
  assert(book.due().some(({ id }) => id === "a"));
});

test("replace() keeps what is known of those kept, and forgets the others (G11 envoy #34498)", () => {
  const { table, book, replace } = world();
  for (const id of ["a", "b"]) book.probed(id, PASSED);
  assertEquals(table.failuresMax(0), 2);
  replace(["a"]);
  assertEquals([book.isReady("a"), book.isReady("b")], [true, false]);
  assertEquals(book.record("b"), undefined);
  book.probed("b", PASSED);
  book.look();
  assertEquals(book.record("b"), undefined);
});

test("drained endpoints that are gone are forgotten beyond a bound", () => {
  const ids = Array.from({ length: ENDPOINTS_MAX + 40 }, (_, at) => `e${at}`);
  const { book } = world([]);
  const list = (ids: readonly string[]) => book.replace(ids.map(spec), () => 0);
  for (const id of ids) {
    list([id]);
    book.drain(id);
  }
  list(["e0"]);
  book.probed("e0", PASSED);
  assertEquals(book.isReady("e0"), true);
  const last = ids.at(-1) ?? "";
  list([last]);
  book.probed(last, PASSED);
  assertEquals(book.isReady(last), false);
});
