/**
 * Golden exchanges: every file of this folder, played and compared byte for
 * byte, and a file for every error that the gateway can answer with.
 *
 * @module
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { ERROR_TABLE, type ErrorCode } from "../../src/core/error.ts";
import { lacks } from "../gateway/old_listener.ts";
import { test } from "../leakproof.ts";
import { readCases } from "./cases.ts";
import {
  type Exchange,
  formatExchange,
  parseExchange,
} from "./exchange_file.ts";
import { comparable, masked } from "./masks.ts";
import { playExchange } from "./play.ts";

/** Errors without a case, and why they have none. */
const WITHOUT_CASE: ReadonlyMap<string, string> = new Map<ErrorCode, string>([
  ["client_gone", "nobody is left to be answered"],
  ["request_body_broken", "the listener ends such a connection without a word"],
  ["internal_error", "nothing known brings it about"],
  ["upstream_connect_timeout", "loopback accepts or refuses at once"],
  ["gateway_stopping", "only while a gateway stops"],
]);

test("every exchange goes as its file says", async (t) => {
  for (const { exchange, name, text } of await readCases()) {
    const isLacking = exchange.isCutOff && lacks("eventBeforeBreak");
    await t.step(`${name}: ${exchange.title}`, async () => {
      assertEquals(
        text,
        formatExchange(exchange),
        "is not written canonically",
      );
      const played = await playExchange(exchange);
      assertEquals(played.toUpstream, exchange.toUpstream);
      if (typeof isLacking === "string") return;
      assertEquals(comparable(played.toClient), comparable(exchange.toClient));
      assertEquals(played.isCutOff, exchange.isCutOff);
    });
  }
});

test("every row of the error table has an exchange, or a reason for none", async () => {
  const shown = new Set<string>();
  for (const { exchange } of await readCases()) {
    const code = /\r\nx-tryst-error: (\w+)\r\n/.exec(exchange.toClient)?.[1];
    if (code !== undefined) shown.add(code);
  }
  const wanted = Object.keys(ERROR_TABLE)
    .filter((code) => !WITHOUT_CASE.has(code));
  assertEquals([...shown].sort(), wanted.sort());
});

/** Where engines are, and what this is made of: nobody's business. */
const INSIDE = /127\.0\.0\.1|localhost|inner-path|deno|file:|\.ts\b/i;

test("no error tells where engines are, whatever they are called", async () => {
  assert(INSIDE.test("http://127.0.0.1:{port}/inner-path"));
  const inner = { basePath: "/inner-path", isNameless: true };
  let count = 0;
  for (const { exchange, name } of await readCases()) {
    if (!/\r\nx-tryst-error: /.test(exchange.toClient)) continue;
    const { toClient } = await playExchange(exchange, inner);
    assertEquals(INSIDE.exec(toClient)?.[0], undefined, name);
    assert(/\r\nx-tryst-error: /.test(toClient), name);
    count += 1;
  }
  assert(count >= Object.keys(ERROR_TABLE).length - WITHOUT_CASE.size);
});

test("an Anthropic path has an exchange with an error of its shape", async () => {
  const cases = await readCases();
  assert(
    cases.some(({ exchange }) =>
      exchange.fromClient.startsWith("POST /v1/messages ") &&
      exchange.toClient.includes('{"type":"error","error":{"type":')
    ),
  );
});

test("parseExchange() refuses what is no exchange", () => {
  for (const text of ["", "# title\n", "> client\nx\n", "# t\nx\n> client\n"]) {
    assertThrows(() => parseExchange(text), Error, "Cannot read");
  }
});

test("formatExchange() writes what parseExchange() reads", () => {
  const text = fc.string({
    unit: fc.integer({ min: 0, max: 255 }).map(latin1),
  });
  const arbitrary = fc.record({
    title: fc.constant("A title"),
    settings: fc.constant(new Map([["config", "{}"], ["busy", ""]])),
    fromClient: text,
    toUpstream: fc.option(text, { nil: undefined }),
    fromUpstream: text,
    laterUpstream: fc.option(text, { nil: undefined }),
    upstreamCloses: fc.boolean(),
    toClient: text,
    isCutOff: fc.boolean(),
  });
  fc.assert(fc.property(arbitrary, (exchange: Exchange) => {
    assertEquals(parseExchange(formatExchange(exchange)), exchange);
  }));
});

function latin1(code: number): string {
  return String.fromCharCode(code);
}

test("masked() hides what differs from run to run, and only that", () => {
  const text = "HTTP/1.1 200 OK\r\ndate: Mon\r\nx-date: Mon\r\n" +
    "x-request-id: req-0123456789abcdev\r\nx-other: req-1\r\n" +
    "host: 127.0.0.1:4711\r\n\r\n";
  const expected = "HTTP/1.1 200 OK\r\ndate: {date}\r\nx-date: Mon\r\n" +
    "x-request-id: {request id}\r\nx-other: req-1\r\n" +
    "host: 127.0.0.1:{port}\r\n\r\n";
  assertEquals(masked(text), expected);
  assertEquals(masked(expected), expected);
});
