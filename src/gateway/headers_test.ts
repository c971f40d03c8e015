/**
 * What crosses from one connection to the other, and what does not.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Header, HeaderList } from "../core/request.ts";
import { test } from "../../tests/leakproof.ts";
import { answerHeaders, upstreamHeaders } from "./headers.ts";

const ADDITIONS = {
  host: "engine:8000",
  requestId: "id-1",
  clientAddress: "10.0.0.9",
  scheme: "http",
} as const;

/** The upstream headers without those that every request gets. */
function passed(headers: HeaderList): Header[] {
  const added = ["host", "x-forwarded-for", "x-forwarded-proto"];
  return upstreamHeaders(headers, ADDITIONS).filter(([name]) =>
    !added.includes(name) && name !== "x-request-id"
  );
}

test("upstreamHeaders() drops what speaks of the connection (D4 nuxt/scripts #791)", () => {
  const dropped: Header[] = [
    ["connection", "close, X-Foo"],
    ["content-length", "12"],
    ["expect", "100-continue"],
    ["keep-alive", "timeout=5"],
    ["proxy-authorization", "Basic x"],
    ["te", "trailers"],
    ["trailer", "x-sum"],
    ["transfer-encoding", "chunked"],
    ["upgrade", "h2c"],
    ["x-foo", "named by Connection"],
  ];
  for (const row of dropped) {
    assertEquals(passed([["connection", "x-foo"], row]), [], row[0]);
  }
});

test("upstreamHeaders() keeps the rest in order (D6 sglang #3070, PS #910)", () => {
  const headers: Header[] = [
    ["authorization", "Bearer t"],
    ["accept-encoding", "gzip"],
    ["x-session-id", "s"],
    ["cookie", "a=1; b=2"],
    ["x-stainless-os", "Linux"],
  ];
  assertEquals(passed(headers), headers);
});

test("upstreamHeaders() gives the endpoint its own host (D5 vllm-router #190)", () => {
  const out = upstreamHeaders([["host", "gw.example"]], ADDITIONS);
  assertEquals(out.filter(([name]) => name === "host"), [
    ["host", "engine:8000"],
  ]);
  assertEquals(out.at(-1), ["x-forwarded-host", "gw.example"]);
});

test("upstreamHeaders() appends to the way a request came", () => {
  const out = new Map(upstreamHeaders([
    ["host", "gw.example"],
    ["x-forwarded-for", "1.2.3.4"],
    ["x-forwarded-host", "public.example"],
    ["x-forwarded-proto", "https"],
    ["x-request-id", "the client's"],
  ], ADDITIONS));
  assertEquals(out.get("x-forwarded-for"), "1.2.3.4, 10.0.0.9");
  assertEquals(out.get("x-forwarded-host"), "public.example");
  assertEquals(out.get("x-forwarded-proto"), "https");
  assertEquals(out.get("x-request-id"), "id-1");
});

test("answerHeaders() drops framing and hop-by-hop fields", () => {
  const headers: Header[] = [
    ["content-type", "application/json"],
    ["content-length", "5"],
    ["transfer-encoding", "chunked"],
    ["connection", "keep-alive, x-hop"],
    ["x-hop", "1"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["server", "uvicorn"],
    ["x-tryst-endpoint", "forged"],
  ];
  const kept: Header[] = [
    ["content-type", "application/json"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["server", "uvicorn"],
  ];
  assertEquals(answerHeaders(headers, false), kept);
  kept.splice(1, 0, ["content-length", "5"]);
  assertEquals(answerHeaders(headers, true), kept);
});

test("headers that nothing speaks against survive byte for byte", () => {
  const name = fc.stringMatching(/^x-[a-z]{1,12}$/)
    .filter((name) => !/^x-(?:forwarded|request|tryst)/.test(name));
  const value = fc.string({ unit: "binary-ascii" });
  const list = fc.array(fc.tuple(name, value));
  fc.assert(fc.property(list, (headers) => {
    assertEquals(passed(headers), headers);
    assertEquals(answerHeaders(headers, false), headers);
  }));
});
