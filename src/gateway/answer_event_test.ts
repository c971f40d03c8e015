/**
 * Whatever an engine answers becomes an event that the client's API knows.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { answerEvent } from "./answer_event.ts";

const OPENAI = "/v1/chat/completions";
const ANTHROPIC = "/v1/messages?beta=true";

/** What one event holds, and its name. */
function eventOf(
  target: string,
  status: number,
  body: string | undefined,
  type = "text/plain",
) {
  const event = answerEvent({
    status,
    headers: [["content-type", type]],
    bytes: body === undefined ? undefined : new TextEncoder().encode(body),
  }, { target, requestId: "id-1" });
  const match = /^(?:event: (\w+)\n)?data: (.*)\n\n$/.exec(event);
  assert(match !== null, event);
  return { name: match[1], data: JSON.parse(match[2] ?? "") };
}

const SHAPED = '{"error":{"message":"busy","code":503}}';
const SHAPED_ANTHROPIC =
  '{"type":"error","error":{"type":"overloaded_error","message":"busy"}}';

test("answerEvent() passes errors of the API's own shape as they are", () => {
  const table = [[OPENAI, SHAPED, undefined], [
    ANTHROPIC,
    SHAPED_ANTHROPIC,
    "error",
  ]] as const;
  for (const [target, body, name] of table) {
    assertEquals(eventOf(target, 503, body), { name, data: JSON.parse(body) });
  }
});

test("answerEvent() shapes whatever else an engine calls an error", () => {
  const cut = "x".repeat(500);
  const table: [status: number, body: string | undefined, error: string[]][] = [
    [500, "Internal Server Error", ["server_error", "Internal Server Error"]],
    [
      400,
      '{"object":"error","message":"too long","code":400}',
      ["invalid_request_error", "too long"],
    ],
    [404, '{"detail":"Not Found"}', ["not_found_error", "Not Found"]],
    [401, '{"detail":"No key"}', ["authentication_error", "No key"]],
    [403, '{"message":"No"}', ["permission_error", "No"]],
    [429, '{"error":"overloaded"}', ["rate_limit_error", "overloaded"]],
    [503, '{"error":null}', [
      "server_error",
      "The endpoint answered with status 503",
    ]],
    [502, "", ["server_error", "The endpoint answered with status 502"]],
    [502, " \r\n\t", ["server_error", "The endpoint answered with status 502"]],
    [500, undefined, ["server_error", "The endpoint answered with status 500"]],
    [500, "[]", ["server_error", "The endpoint answered with status 500"]],
    [500, "null", ["server_error", "The endpoint answered with status 500"]],
    [500, '"oops"', ["server_error", "oops"]],
    [500, "one\r\ntwo\u0000\u0085three", ["server_error", "one two three"]],
    [500, cut, ["server_error", cut]],
    [500, `${cut}y`, ["server_error", cut]],
  ];
  for (const [status, body, [type, message]] of table) {
    assertEquals(eventOf(OPENAI, status, body), {
      name: undefined,
      data: { error: { message, type, param: null, code: null } },
    });
    const { data, name } = eventOf(ANTHROPIC, status, body);
    assertEquals([name, data.type, data.request_id], [
      "error",
      "error",
      "id-1",
    ]);
    assertEquals(data.error.message, message);
  }
});

test("answerEvent() gives Anthropic's names, and OpenAI's message, where it is asked", () => {
  const table: [status: number, type: string][] = [
    [400, "invalid_request_error"],
    [404, "not_found_error"],
    [500, "api_error"],
    [503, "overloaded_error"],
  ];
  for (const [status, type] of table) {
    const { data } = eventOf(ANTHROPIC, status, SHAPED);
    assertEquals(data.error, { type, message: "busy" });
  }
});

test("answerEvent() quotes no page and nothing compressed", () => {
  const status = 502;
  const message = "The endpoint answered with status 502";
  const { data } = eventOf(OPENAI, status, "<html>Bad</html>", "text/html");
  assertEquals(data.error.message, message);
  const compressed = answerEvent({
    status,
    headers: [["content-encoding", "gzip"]],
    bytes: Uint8Array.of(31, 139, 8, 0),
  }, { target: OPENAI, requestId: "id-1" });
  assert(compressed.includes(message), compressed);
});

test("answerEvent() tells the truth of an answer that is no stream", () => {
  assertEquals(eventOf(OPENAI, 200, '{"id":"a"}'), {
    name: undefined,
    data: { id: "a" },
  });
  const table: [status: number, body: string | undefined, message: string][] = [
    [200, "ok", "The endpoint answered with neither an event stream nor JSON"],
    [204, "", "The endpoint answered with neither an event stream nor JSON"],
    [
      200,
      undefined,
      "The endpoint answered with no event stream and over 65536 bytes",
    ],
    [302, "{}", "The endpoint answered with status 302"],
  ];
  for (const [status, body, message] of table) {
    const { error } = eventOf(OPENAI, status, body).data;
    assertEquals([error.code, error.message], ["upstream_malformed", message]);
  }
});

test("answerEvent() makes one event of an error whatever its body is", () => {
  fc.assert(fc.property(
    fc.integer({ min: 400, max: 599 }),
    fc.oneof(fc.string(), fc.json()),
    fc.constantFrom(OPENAI, ANTHROPIC),
    (status, body, target) => {
      const { data } = eventOf(target, status, body);
      assert(typeof data.error === "object" && data.error !== null);
    },
  ));
});
