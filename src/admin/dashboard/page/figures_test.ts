/**
 * The parts of the page that only compute: text of events, totals, series,
 * numbers, the verdict and what is told of changes.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { MadeUpGateway } from "../../../../tests/dashboard/made_up_gateway.ts";
import { test } from "../../../../tests/leakproof.ts";
import type { GatewayStatus } from "../../status.ts";
import { EventText } from "./event_text.ts";
import { bytes, duration, number } from "./format.ts";
import { RecentTotals } from "./recent_totals.ts";
import { Series, SERIES_MAX } from "./series.ts";
import { changesBetween } from "./state_changes.ts";
import { verdictOf } from "./verdict.ts";

async function withStatus(
  body: (status: GatewayStatus) => void,
): Promise<void> {
  await using gateway = new MadeUpGateway();
  body(gateway.status());
}

/** The status with other states. */
function stated(
  status: GatewayStatus,
  ...states: readonly GatewayStatus["endpoints"][number]["state"][]
): GatewayStatus {
  const endpoints = status.endpoints.map((endpoint, index) => ({
    ...endpoint,
    state: states[index] ?? endpoint.state,
  }));
  return { ...status, endpoints };
}

test("EventText gives what was sent, however it is cut", () => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ["", []],
    ["data: 1", []],
    ["data: 1\n", []],
    ["data: 1\n\n", ["1"]],
    ["data:1\r\n\r\ndata: 2\n\n", ["1", "2"]],
    [": comment\n\nretry: 5\ndata: a\ndata: b\n\n", ["a\nb"]],
  ];
  for (const [text, events] of rows) {
    assertEquals(new EventText().push(text), events, text);
  }
  const lines = fc.array(fc.string().filter((it) => /^[^\r\n]+$/.test(it)));
  fc.assert(fc.property(lines, fc.integer({ min: 1, max: 9 }), (all, size) => {
    const sent = all.map((line) => `data: ${line}\n\n`).join("");
    const reader = new EventText();
    const got: string[] = [];
    for (let at = 0; at < sent.length; at += size) {
      got.push(...reader.push(sent.slice(at, at + size)));
    }
    assertEquals(got, all);
  }));
});

test("EventText holds no more than its bound", () => {
  const reader = new EventText();
  reader.push("x".repeat(8_388_608));
  assertThrows(() => reader.push("x"), RangeError);
});

test("RecentTotals compares what is 10 s apart", () => {
  const recent = new RecentTotals();
  assertEquals(recent.perSecond("a"), null);
  recent.add(0, { a: 5, b: 1 });
  assertEquals([recent.perSecond("a"), recent.ratio("a", "b")], [null, null]);
  for (let second = 1; second <= 60; second++) {
    recent.add(second * 1_000, { a: 5 + second * 3, b: 1 + second * 6 });
  }
  assertEquals(recent.perSecond("a"), 3);
  assertEquals(recent.growth("a"), 30);
  assertEquals(recent.ratio("a", "b"), 0.5);
});

test("RecentTotals takes a total that falls for a new start", () => {
  const recent = new RecentTotals();
  recent.add(0, { a: 100 });
  recent.add(1_000, { a: 110 });
  recent.add(2_000, { a: 3 });
  assertEquals(recent.perSecond("a"), null);
  recent.add(3_000, { a: 5 });
  assertEquals(recent.perSecond("a"), 2);
});

test("Series is bounded and its times rise, whatever comes", () => {
  const steps = fc.array(fc.integer({ min: -5_000, max: 5_000 }), {
    maxLength: 1_000,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const series = new Series();
      let atMs = 1_000_000;
      for (const step of all) series.add(atMs += step, step);
      assertEquals(series.xs.length, series.ys.length);
      assert(series.xs.length <= SERIES_MAX);
      assert(
        series.xs.every((x, at) => at === 0 || x > (series.xs[at - 1] ?? 0)),
      );
      assertEquals(series.ys.at(-1), all.at(-1));
    }),
  );
});

test("Series keeps the last of more than it holds", () => {
  const series = new Series();
  for (let at = 1; at <= SERIES_MAX; at++) series.add(at * 1_000, at);
  assertEquals([series.xs[0], series.xs.length], [1, SERIES_MAX]);
  series.add((SERIES_MAX + 1) * 1_000, null);
  assertEquals([series.xs[0], series.xs.length], [2, SERIES_MAX]);
  assertEquals(series.ys.at(-1), null);
});

test("numbers are short and have their unit", () => {
  const rows: readonly (readonly [string, string])[] = [
    [number(null), "–"],
    [number(NaN, "rate"), "–"],
    [number(1_234.6), "1,235"],
    [number(0, "rate"), "0"],
    [number(0.004, "rate"), "0.00"],
    [number(9.994, "rate"), "9.99"],
    [number(45.04, "rate"), "45.0"],
    [number(1_234.5, "rate"), "1,235"],
    [number(0.9996, "share"), "100.0 %"],
    [number(1, "share"), "100 %"],
    [number(0.0043, "share"), "0.4 %"],
    [duration(null), "–"],
    [duration(-3), "0 ms"],
    [duration(999.4), "999 ms"],
    [duration(1_000), "1.00 s"],
    [duration(59_999), "60.0 s"],
    [duration(59_999, "whole"), "59 s"],
    [duration(-1, "whole"), "0 s"],
    [duration(60_000), "1 min"],
    [duration(3_599_999), "59 min 59 s"],
    [duration(273_600_000), "3 d 4 h"],
    [bytes(0), "0 B"],
    [bytes(1_023), "1023 B"],
    [bytes(1_536), "1.5 KiB"],
    [bytes(2 ** 50), "1024 TiB"],
  ];
  for (const [shown, wanted] of rows) {
    assertEquals(shown.replaceAll("\u202f", " "), wanted);
  }
});

test("verdictOf names what needs a person, the worst level first", async () => {
  await withStatus((status) => {
    const queue = { ...status.queue, waiting: 2, longestWaitMs: 4_999 };
    const late = { ...queue, longestWaitMs: 5_000 };
    const rows: readonly (readonly [GatewayStatus, number | null, string])[] = [
      [status, null, "ok All 4 endpoints are ready."],
      [{ ...status, queue }, 0, "ok All 4 endpoints are ready."],
      [{ ...status, endpoints: [] }, 0, "bad No endpoint is configured."],
      [{ ...status, isReady: false }, 0, "bad The gateway is not ready."],
      [
        stated(status, "ejected"),
        0,
        "warn 1 of 4 endpoints is ejected: gpu-1.",
      ],
      [
        stated(status, "draining", "probing"),
        0,
        "note 1 of 4 endpoints is probing: gpu-2. " +
        "1 of 4 endpoints is draining: gpu-1.",
      ],
      [
        stated(status, "ejected", "ejected", "ejected", "ejected"),
        0,
        "bad No endpoint takes work. 4 of 4 endpoints are ejected: " +
        "gpu-1, gpu-2, http://10.12.0.31:8000, ….",
      ],
      [
        { ...status, workers: { serving: 3, total: 4, deaths: 1 } },
        0,
        "warn 3 of 4 workers serve.",
      ],
      [
        { ...status, queue: late },
        0,
        "warn 2 requests wait, the longest for 5.00 s.",
      ],
      [status, 0.25, "warn 0.25 errors/s."],
    ];
    for (const [input, errors, wanted] of rows) {
      const { level, text } = verdictOf(input, errors);
      const shown = `${level} ${text}`.replaceAll(/[\u202f\u00a0]/g, " ");
      assertEquals(shown, wanted);
    }
  });
});

test("changesBetween tells of changes, and of nothing else", async () => {
  await withStatus((status) => {
    const [first] = status.endpoints;
    assert(first !== undefined);
    const later = { ...status, nowMs: status.nowMs + 1, memoryBytes: 1 };
    const rows: readonly (readonly [GatewayStatus, string])[] = [
      [status, ""],
      [later, ""],
      [stated(status, "ejected"), "gpu-1 is ejected, was ready."],
      [
        { ...status, endpoints: [first] },
        "gpu-2 is gone. http://10.12.0.31:8000 is gone. " +
        "gpu-4-long-context is gone.",
      ],
      [
        { ...status, startedAtMs: 1, version: "2" },
        "The gateway has started anew. It is version 2 now: reload this page.",
      ],
      [
        {
          ...status,
          endpoints: Array.from({ length: 6 }, (_, index) => ({
            ...first,
            id: `n${index}`,
          })),
        },
        "n0 is new and ready. n1 is new and ready. n2 is new and ready. " +
        "n3 is new and ready. 6 more changes.",
      ],
    ];
    for (const [after, wanted] of rows) {
      assertEquals(changesBetween(status, after), wanted);
    }
  });
});
