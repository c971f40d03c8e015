/**
 * The checkers of the chaos refuse forged records and answers.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parseReply, type Reply } from "../gateway/reply.ts";
import { frame } from "../gateway/websocket_frames.ts";
import { test } from "../leakproof.ts";
import { answerProblem } from "./answer_check.ts";
import { endsOnce, noDoubleWork } from "./checkers.ts";
import { piecesOf, targetOf, wishOf } from "./expected.ts";
import { FrameReader, OPCODES } from "./frames.ts";
import type { ClientEnd, ClientRecord, EngineRecord } from "./journal.ts";
import {
  memoryReturns,
  nothingHeld,
  type Quiet,
  sessionsStay,
} from "./quiet.ts";

const WHOLE: ClientEnd = { kind: "whole", status: 200, by: "engine" };

function client(method: string, end: ClientEnd = WHOLE): ClientRecord {
  return { id: "r", method, plan: "forged", bodyHash: 7, end };
}

function head(method: string, id = "r"): EngineRecord {
  return { kind: "head", id, method };
}

function repeat<T>(count: number, item: T): T[] {
  return Array.from({ length: count }, () => item);
}

test("endsOnce() refuses requests that end twice, wrongly or never", () => {
  const rows: readonly (readonly [string, readonly ClientRecord[]])[] = [
    ["ended twice", [client("POST"), client("POST")]],
    ["no answer and no end", [client("POST", { kind: "stuck" })]],
    ["mixed up", [client("GET", { kind: "wrong", problem: "mixed up" })]],
  ];
  for (const [problem, records] of rows) {
    assertStringIncludes(endsOnce(records).join(), problem);
  }
  const fine: readonly ClientEnd[] = [
    WHOLE,
    { kind: "broken", where: "head" },
    { kind: "left", where: "waiting" },
    { kind: "closed" },
  ];
  for (const end of fine) assertEquals(endsOnce([client("POST", end)]), []);
});

test("noDoubleWork() counts by method, and compares what engines read", () => {
  const rows: readonly (readonly [string, string, readonly EngineRecord[]])[] =
    [
      ["begun 2 times", "POST", repeat(2, head("POST"))],
      ["begun 5 times", "GET", repeat(5, head("GET"))],
      ["begun 5 times", "PUT", repeat(5, head("PUT"))],
      ["no client has sent", "POST", [head("POST", "other")]],
      ["reached an engine as GET", "POST", [head("GET")]],
      ["another body", "POST", [{ kind: "whole", id: "r", bodyHash: 8 }]],
      ["what is no request", "POST", [{ kind: "refused", reason: "bytes" }]],
      ["", "POST", [head("POST"), { kind: "whole", id: "r", bodyHash: 7 }]],
      ["", "GET", repeat(4, head("GET"))],
      ["", "PUT", repeat(4, head("PUT"))],
      ["", "POST", []],
    ];
  for (const [problem, method, engines] of rows) {
    const found = noDoubleWork([client(method)], engines);
    assertEquals(found.length, problem === "" ? 0 : 1, problem);
    assertStringIncludes(found.join(), problem);
  }
});

function quiet(
  change: Readonly<Record<string, number>> = {},
  sockets = { engines: 4, clients: 0 },
): Quiet {
  const metrics = new Map(Object.entries({
    tryst_endpoint_in_flight: 0,
    tryst_tunnels: 0,
    tryst_requests_received_total: 9,
    tryst_requests_total: 9,
    tryst_worker_deaths_total: 0,
    ...change,
  }));
  return { metrics, sockets, residentBytes: 1 };
}

test("nothingHeld() refuses whatever is left", () => {
  assertEquals(nothingHeld(quiet()), []);
  const rows: readonly Quiet[] = [
    quiet({ tryst_endpoint_in_flight: 1 }),
    quiet({ tryst_endpoint_in_flight: -1 }),
    quiet({ tryst_tunnels: 1 }),
    quiet({ tryst_requests_total: 8 }),
    quiet({ tryst_queue_waiting: 1 }),
    quiet({ tryst_requests_in_flight: 1 }),
    quiet({ tryst_worker_deaths_total: 1 }),
    quiet({}, { engines: 5, clients: 0 }),
    quiet({}, { engines: 0, clients: 1 }),
  ];
  for (const row of rows) assertEquals(nothingHeld(row).length, 1);
});

test("nothingHeld() counts no requests of workers that are made to die", () => {
  const deaths = {
    "tryst_worker_deaths_total": 2,
    "tryst_requests_total": 8,
  };
  assertEquals(nothingHeld(quiet(deaths), "dying"), []);
  const more = quiet({ tryst_requests_total: 10 });
  assertEquals(nothingHeld(more, "dying").length, 1);
});

test("sessionsStay() refuses too few hits", () => {
  const rows: readonly (readonly [number, number, number])[] = [
    [39, 61, 1],
    [40, 60, 0],
    [41, 59, 0],
  ];
  for (const [hits, others, count] of rows) {
    const metrics = new Map([
      [`tryst_affinity_total{outcome="hit"}`, hits],
      [`tryst_affinity_total{outcome="spilled"}`, others],
    ]);
    assertEquals(sessionsStay(metrics).length, count);
  }
});

test("memoryReturns() allows a tenth", () => {
  assertEquals(memoryReturns(1_000, 1_101).length, 1);
  assertEquals(memoryReturns(1_000, 1_100), []);
  assertEquals(memoryReturns(1_000, 500), []);
});

const STREAM = targetOf("/v1/chat/completions", {
  events: 3,
  pauseMs: 0,
  pad: 4,
});
const OBJECT = targetOf("/v1/things", { events: 0, pauseMs: 0, pad: 4 });

function textOf(target: string): string {
  return piecesOf(wishOf(target), "r").join("");
}

/** An answer as it would come, cut off where `isCut`. */
function reply(
  body: string,
  options: {
    readonly lines?: readonly string[];
    readonly status?: number;
    readonly isCut?: boolean;
    readonly id?: string;
  } = {},
): Reply {
  const { lines = [], status = 200, isCut = false, id = "r" } = options;
  const length = body.length + (isCut ? 1 : 0);
  const text = [
    `HTTP/1.1 ${status} OK`,
    `x-request-id: ${id}`,
    ...lines,
    `content-length: ${length}`,
    `\r\n${body}`,
  ].join("\r\n");
  const parsed = parseReply(text, false);
  assert(parsed !== undefined);
  return parsed.reply;
}

const ERROR_LINE = "x-tryst-error: upstream_reset";
const ERROR_BODY = '{"error":{"code":"upstream_reset"}}';
const ERROR_EVENT = `data: ${ERROR_BODY}\n\n`;

test("answerProblem() refuses what no engine and no gateway answers", () => {
  const stream = textOf(STREAM);
  const rows: readonly (readonly [string, string, Reply])[] = [
    ["answers request", OBJECT, reply(textOf(OBJECT), { id: "other" })],
    ["not the engine's", OBJECT, reply(textOf(OBJECT).slice(1))],
    ["not the engine's", STREAM, reply(stream + stream)],
    ["not the engine's", STREAM, reply(stream.slice(0, -1))],
    ["not the beginning", OBJECT, reply("{{", { isCut: true })],
    ["not the beginning", STREAM, reply("data: {{", { isCut: true })],
    ["as if it were whole", STREAM, reply(stream.slice(0, 40) + ERROR_EVENT)],
    ["as if it were whole", STREAM, reply(ERROR_EVENT)],
    ["not the engine's", STREAM, reply(`${stream}: queued\n\n`)],
    [
      "event of no kind",
      STREAM,
      reply(`data: {"error":{"code":"new"}}\n\n`, { isCut: true }),
    ],
    ["nobody answers", OBJECT, reply("", { status: 204 })],
    [
      "want 502",
      OBJECT,
      reply(ERROR_BODY, { lines: [ERROR_LINE], status: 503 }),
    ],
    [
      "is not of upstream_reset",
      OBJECT,
      reply("{}", { lines: [ERROR_LINE], status: 502 }),
    ],
    ["no error is named", OBJECT, reply("{}", { lines: ["x-tryst-error: x"] })],
    [
      "failed by itself",
      OBJECT,
      reply("{}", { lines: ["x-tryst-error: internal_error"], status: 500 }),
    ],
    ["is not the engine's", OBJECT, reply("<>", { status: 503 })],
  ];
  for (const [problem, target, answer] of rows) {
    const found = answerProblem({ id: "r", target }, answer);
    assertStringIncludes(found ?? "nothing is wrong", problem);
  }
});

test("answerProblem() accepts whole answers, beginnings and errors", () => {
  const stream = textOf(STREAM);
  const rows: readonly (readonly [string, Reply])[] = [
    [OBJECT, reply(textOf(OBJECT))],
    [OBJECT, reply(textOf(OBJECT).slice(0, 5), { isCut: true })],
    [OBJECT, reply("", { isCut: true })],
    [STREAM, reply(stream)],
    [STREAM, reply(stream.slice(0, 50), { isCut: true })],
    [STREAM, reply(stream, { isCut: true })],
    [STREAM, reply(stream.slice(0, 40) + ERROR_EVENT, { isCut: true })],
    [STREAM, reply(ERROR_EVENT, { isCut: true })],
    [STREAM, reply(ERROR_EVENT.slice(0, 20), { isCut: true })],
    [OBJECT, reply(ERROR_BODY, { lines: [ERROR_LINE], status: 502 })],
    [OBJECT, reply("{}", { status: 503 })],
    [OBJECT, reply("{}", { status: 500 })],
    [STREAM, reply(`: queued\n\n: queued\n\n${stream}`)],
    [STREAM, reply(`: queued\n\n${ERROR_EVENT}`)],
    [STREAM, reply(": queued\n\ndata: {}\n\n")],
  ];
  for (const [target, answer] of rows) {
    assertEquals(answerProblem({ id: "r", target }, answer), undefined);
  }
});

test("FrameReader reads frames of every length in any split", () => {
  for (const length of [0, 1, 125, 126, 65_535, 65_536]) {
    for (const isMasked of [false, true]) {
      const payload = "p".repeat(length);
      const bytes = frame({ opcode: OPCODES.text, isMasked }, payload);
      const reader = new FrameReader();
      const cut = Math.min(bytes.length - 1, 5);
      assertEquals(reader.push(bytes.subarray(0, cut)), []);
      const whole = { opcode: OPCODES.text, payload };
      assertEquals(reader.push(bytes.subarray(cut)), [whole]);
    }
  }
});
