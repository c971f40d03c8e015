/** Tests of the `claude_session` filter. @module */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { claudeSession } from "./claude_session.ts";

const UUID = "0f2c5a0e-5c1b-4d5c-9f1c-6b5d1f2e3a4b";
const HASH = "5a".repeat(32);

test("claudeSession takes other values for absent", () => {
  const values = ["", "user-123", "{", "[]", "null", "{}", `"${UUID}"`, UUID];
  const members = ['{"session_id":7}', '{"session_id":null}', '{"id":"x"}'];
  const legacy = [`user_${HASH}`, `user_${HASH}_account__session_`];
  const near = [`xuser_${HASH}_account__session_${UUID}`, `_session_${UUID}`];
  for (const value of [...values, ...members, ...legacy, ...near]) {
    assertEquals(session(value), undefined, value);
  }
  assertEquals(session('{"__proto__":{"session_id":"x"}}'), undefined);
});

test("claudeSession finds the session in both forms", () => {
  const rows = [
    JSON.stringify({ device_id: "d", account_uuid: "", session_id: UUID }),
    ` {"session_id" : "${UUID}"}\n`,
    `user_${HASH}_account__session_${UUID}`,
    `user_${HASH}_account_${UUID.replace("0", "1")}_session_${UUID}`,
  ];
  for (const value of rows) assertEquals(session(value), UUID, value);
});

test("claudeSession tells sessions of one device apart (litellm #40342)", () => {
  const value = (id: string) =>
    JSON.stringify({ device_id: HASH, account_uuid: "", session_id: id });
  assertEquals([session(value("a")), session(value("b"))], ["a", "b"]);
});

test("claudeSession never throws", () => {
  fc.assert(fc.property(fc.uint8Array(), fc.json(), (bytes, json) => {
    claudeSession.apply(bytes);
    session(json);
    session(`{${json}`);
  }));
});

function session(value: string): string | undefined {
  const bytes = claudeSession.apply(new TextEncoder().encode(value));
  return bytes && new TextDecoder().decode(bytes);
}
