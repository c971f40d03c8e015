/**
 * Bodies are taken as JSON, whole, and within their bounds.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { BODY_BYTES_MAX, readJson } from "./change_request.ts";
import { Problem } from "./problem.ts";

function requestOf(body: BodyInit, type: string): Request {
  const headers = { "content-type": type };
  return new Request("http://h/", { method: "POST", headers, body });
}

test("readJson() refuses what is not JSON, or was not sent as JSON", async () => {
  const json = "application/json";
  const rows: readonly [body: BodyInit, type: string, status: number][] = [
    ["{}", "text/plain", 415],
    ["{}", "application/jsonp", 415],
    ["{}", "application/x-www-form-urlencoded", 415],
    ["{}", "", 415],
    ["", json, 400],
    ["{", json, 400],
    ["{}{}", json, 400],
    [new Uint8Array([0x22, 0xff, 0x22]), json, 400],
    [" ".repeat(BODY_BYTES_MAX + 1), json, 413],
  ];
  for (const [body, type, status] of rows) {
    const problem = await assertRejects(
      () => readJson(requestOf(body, type)),
      Problem,
    );
    assertEquals(problem.status, status);
  }
});

test("readJson() reads bodies up to 64 KiB", async () => {
  const rows: readonly [body: string, type: string, value: unknown][] = [
    ["{}", "application/json", {}],
    ["null", "application/JSON; charset=utf-8", null],
    ['"é"', "application/json ;x", "é"],
    ["1".padEnd(BODY_BYTES_MAX, " "), "application/json", 1],
  ];
  for (const [body, type, value] of rows) {
    assertEquals(await readJson(requestOf(body, type)), value);
  }
});
