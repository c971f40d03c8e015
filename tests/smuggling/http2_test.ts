/**
 * No attempt over HTTP/2 reaches an engine ambiguously.
 *
 * Each attempt is a connection of its own, over TLS as browsers speak it and
 * over plain TCP, where the listener takes HTTP/2 too from who begins with it.
 * A strict reader judges what the engine got.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { CertificateFolder } from "../certificates.ts";
import { withGateway } from "../gateway/world.ts";
import { test } from "../leakproof.ts";
import { HIDDEN_TARGET, TARGET } from "./case.ts";
import { HTTP2_ATTEMPTS, type Http2Attempt } from "./http2_attempts.ts";
import { askByHttp2, type Fields, type Outcome } from "./http2_frames.ts";
import { numbered } from "./raw_text.ts";
import { RecordingEngine } from "./recording_engine.ts";
import { readStrictly, type StrictRequest } from "./strict_requests.ts";

/** Attempts at once. */
const WIDTH = 16;

/** An answer or an end comes within milliseconds. */
const WAIT_MS = 3_000;

test("the HTTP/2 corpus names its sources", () => {
  for (const { name, source } of HTTP2_ATTEMPTS) {
    assert(/RFC \d+, \d|CVE-\d+-\d+|20\d\d/.test(source), name);
  }
  const names = new Set(HTTP2_ATTEMPTS.map(({ name }) => name));
  assertEquals(names.size, HTTP2_ATTEMPTS.length);
});

for (const isTls of [true, false]) {
  const over = isTls ? "TLS" : "plain TCP";
  test(`no attempt by HTTP/2 over ${over} reaches an engine ambiguously`, async (t) => {
    await using folder = await CertificateFolder.create();
    const { cert, certFile, keyFile } = await folder.make("gateway");
    await using engine = new RecordingEngine();
    const config = isTls
      ? { tls: { "cert_file": certFile, "key_file": keyFile } }
      : {};
    const outcomes: Outcome[] = [];
    await withGateway([engine], { config }, async ({ port }) => {
      const place = { hostname: "127.0.0.1", port };
      const connect = (): Promise<Deno.Conn> =>
        isTls
          ? Deno.connectTls({
            ...place,
            caCerts: [cert],
            alpnProtocols: ["h2"],
          })
          : Deno.connect(place);
      for (let from = 0; from < HTTP2_ATTEMPTS.length; from += WIDTH) {
        const batch = HTTP2_ATTEMPTS.slice(from, from + WIDTH);
        outcomes.push(
          ...await Promise.all(batch.map(async (attempt, at) => {
            const request = requestOf(attempt, from + at);
            return askByHttp2(await connect(), request, WAIT_MS);
          })),
        );
      }
    });
    const reached = engine.texts.flatMap((text) => {
      const { problem, requests } = readStrictly(text);
      assertEquals(problem, undefined, text);
      return requests;
    });
    for (const [index, attempt] of HTTP2_ATTEMPTS.entries()) {
      await t.step(`${attempt.name} (${attempt.source})`, () => {
        const { body } = requestOf(attempt, index);
        const own = reached.filter(({ target }) => isOf(index, target));
        judge({ ...attempt, body }, outcomes[index], own, isTls);
      });
    }
    const known = /^\/(?:case|hidden)-\d{4}$|^\/(?:health|v1\/models|metrics)/;
    assertEquals(reached.filter(({ target }) => !known.test(target)), []);
  });
}

function requestOf(
  { body, fields }: Http2Attempt,
  index: number,
): { readonly fields: Fields; readonly body: string } {
  return {
    body: numbered(body, index),
    fields: fields.map(([name, value]) => [
      numbered(name, index),
      numbered(value, index),
    ]),
  };
}

function isOf(index: number, target: string): boolean {
  return [TARGET, HIDDEN_TARGET].some((own) =>
    target.startsWith(numbered(own, index))
  );
}

function judge(
  { body, name, wanted }: Http2Attempt,
  outcome: Outcome | undefined,
  reached: readonly StrictRequest[],
  isTls: boolean,
): void {
  const shown = JSON.stringify({ outcome, reached });
  // Without TLS an absolute target of HTTP/1.1 looks the same.
  const isSafe = wanted === "safe" ||
    !isTls && name === "a host that is another";
  if (wanted === "forwarded" || isSafe && reached.length > 0) {
    assertEquals(reached.map((request) => request.body), [body], shown);
    assertEquals(outcome, "answered", shown);
  } else {
    assertEquals(reached, [], shown);
    assertEquals(outcome, "refused", shown);
  }
}
