/**
 * What crosses from one connection to the other, and what does not.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Header, HeaderList } from "../core/request.ts";
import { test } from "../../tests/leakproof.ts";
import { answerHeaders, FIELDS_OWN, upstreamHeaders } from "./headers.ts";
import { StoppedFields } from "./stopped_fields.ts";

const ADDITIONS = {
  host: "engine:8000",
  requestId: "id-1",
  way: {
    clientAddress: "10.0.0.9",
    addresses: ["10.0.0.9"],
    scheme: "http",
    host: "gw.example",
  },
  stopped: new StoppedFields(FIELDS_OWN.request),
};

const ANSWER = {
  keepsLength: false,
  stopped: new StoppedFields([...FIELDS_OWN.answer, "via", "x-inside-*"]),
  inside: { host: "engine:8000", basePath: "/base" },
};

/** The upstream headers without those that every request gets. */
function passed(headers: HeaderList): Header[] {
  const added = [
    "host",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
  ];
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

test("upstreamHeaders() writes the way anew, whatever the client says", () => {
  const said: Header[] = [
    ["host", "gw.example"],
    ["forwarded", "for=1.2.3.4"],
    ["x-forwarded-for", "1.2.3.4"],
    ["x-forwarded-host", "public.example"],
    ["x-forwarded-port", "1"],
    ["x-forwarded-proto", "https"],
    ["x-forwarded-server", "s"],
    ["x-real-ip", "1.2.3.4"],
    ["x-request-id", "the client's"],
    ["x-tryst-priority", "5"],
  ];
  const written: Header[] = [
    ["host", "engine:8000"],
    ["x-forwarded-for", "10.0.0.9"],
    ["x-forwarded-proto", "http"],
    ["x-request-id", "id-1"],
    ["x-forwarded-host", "gw.example"],
  ];
  assertEquals(upstreamHeaders(said, ADDITIONS), written);
  const way = { ...ADDITIONS.way, forwarded: "for=10.0.0.9" };
  assertEquals(upstreamHeaders(said, { ...ADDITIONS, way }), [
    ...written,
    ["forwarded", "for=10.0.0.9"],
  ]);
});

test("answerHeaders() has clients sent on by paths of the gateway", () => {
  const table: [location: string, passed: string][] = [
    ["http://engine:8000/base/v1/x?y", "/v1/x?y"],
    ["https://ENGINE:8000/base/v1", "/v1"],
    ["//engine:8000/base/", "/"],
    ["http://engine:8000", "/"],
    ["http://engine:8000?a", "/?a"],
    ["http://engine:8000/other", "/other"],
    ["/base/v1", "/v1"],
    ["/basement", "/basement"],
    ["/other", "/other"],
    ["v1", "v1"],
    ["http://engine:80000/base/v1", "http://engine:80000/base/v1"],
    ["https://elsewhere.example/base/v1", "https://elsewhere.example/base/v1"],
  ];
  for (const [location, passed] of table) {
    for (const name of ["location", "content-location"]) {
      assertEquals(answerHeaders([[name, location]], ANSWER), [[name, passed]]);
    }
  }
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
    ["via", "1.1 inside"],
    ["x-inside-name", "gpu7"],
    ["x-tryst-endpoint", "forged"],
  ];
  const kept: Header[] = [
    ["content-type", "application/json"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["server", "uvicorn"],
  ];
  assertEquals(answerHeaders(headers, ANSWER), kept);
  kept.splice(1, 0, ["content-length", "5"]);
  assertEquals(answerHeaders(headers, { ...ANSWER, keepsLength: true }), kept);
});

test("headers that nothing speaks against survive byte for byte", () => {
  const name = fc.stringMatching(/^x-[a-z]{1,12}$/)
    .filter((name) => !/^x-(?:forwarded|inside|real|request|tryst)/.test(name));
  const value = fc.string({ unit: "binary-ascii" });
  const list = fc.array(fc.tuple(name, value));
  fc.assert(fc.property(list, (headers) => {
    assertEquals(passed(headers), headers);
    assertEquals(answerHeaders(headers, ANSWER), headers);
  }));
});
