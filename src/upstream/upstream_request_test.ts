import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import type { HeaderList } from "../core/request.ts";
import {
  isRepeatable,
  type UpstreamRequest,
  WRITE_BUFFER_BYTES,
  WriteBuffers,
} from "./upstream_request.ts";

const REST = {
  length: undefined,
  read: () => Promise.resolve(undefined),
  cancel: () => {},
};

function request(changes: Partial<UpstreamRequest> = {}): UpstreamRequest {
  return {
    address: { kind: "tcp", hostname: "127.0.0.1", port: 1, tls: false },
    method: "GET",
    target: "/",
    headers: [["host", "a"]],
    body: undefined,
    ...changes,
  };
}

function encoded(changes: Partial<UpstreamRequest>): string {
  const { buffer, length } = new WriteBuffers().encode(request(changes));
  return String.fromCharCode(...buffer.subarray(0, length));
}

test("encode() refuses what would change the meaning of the head", () => {
  const rows: readonly (readonly [string, Partial<UpstreamRequest>])[] = [
    ["no method", { method: "" }],
    ["a method with a space", { method: "GET /evil" }],
    ["a method with a line end", { method: "GET\r\n" }],
    ["no target", { target: "" }],
    ["a target with a space", { target: "/a HTTP/1.1" }],
    ["a target with a line end", { target: "/a\r\nx: y" }],
    ["a target with a NUL", { target: "/\0" }],
    ["a target beyond latin-1", { target: "/\u{1f600}" }],
    ["no header name", { headers: [["", "b"]] }],
    ["a name with a space", { headers: [["a ", "b"]] }],
    ["a name with a colon", { headers: [["a:", "b"]] }],
    ["a value with CR", { headers: [["a", "b\rc"]] }],
    ["a value with LF", { headers: [["a", "b\nc"]] }],
    ["a value with NUL", { headers: [["a", "b\0c"]] }],
    ["a value beyond latin-1", { headers: [["a", "\u0100"]] }],
    ["a length of its own", { headers: [["content-length", "5"]] }],
    ["a Length of its own", { headers: [["Content-Length", "5"]] }],
    ["a coding of its own", { headers: [["transfer-encoding", "chunked"]] }],
    [
      "a negative length",
      { body: { held: [], rest: REST }, contentLength: -1 },
    ],
    [
      "a broken length",
      { body: { held: [], rest: REST }, contentLength: 1.5 },
    ],
  ];
  for (const [name, changes] of rows) {
    assertThrows(() => encoded(changes), TypeError, "Cannot send", name);
  }
});

test("encode() frames a body by what is known of it", () => {
  const headers: HeaderList = [];
  const body = { held: [], rest: REST };
  const rows: readonly (readonly [Partial<UpstreamRequest>, string])[] = [
    [{ method: "GET" }, "GET / HTTP/1.1\r\n\r\n"],
    [{ method: "DELETE" }, "DELETE / HTTP/1.1\r\n\r\n"],
    [{ method: "POST" }, "POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"],
    [
      { method: "GET", body: new Uint8Array(0) },
      "GET / HTTP/1.1\r\ncontent-length: 0\r\n\r\n",
    ],
    [
      { method: "POST", body: new TextEncoder().encode("hi") },
      "POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi",
    ],
    [
      { method: "POST", body, contentLength: 9 },
      "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n",
    ],
    [
      { method: "POST", body },
      "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
    ],
  ];
  for (const [changes, wanted] of rows) {
    assertEquals(encoded({ headers, ...changes }), wanted);
  }
});

test("encode() sends target and values byte for byte", () => {
  assertEquals(
    encoded({
      method: "mIxEd",
      target: "/a/../b//c%2f%zz?x=|\"'\xe9",
      headers: [["a", ""], ["b", "\xe9\t x"], ["a", "2"]],
    }),
    "mIxEd /a/../b//c%2f%zz?x=|\"'\xe9 HTTP/1.1\r\n" +
      "a: \r\nb: \xe9\t x\r\na: 2\r\n\r\n",
  );
});

test("encode() puts the body behind the head while both fit", () => {
  const buffers = new WriteBuffers();
  const head = (bytes: number) => {
    const body = new Uint8Array(bytes);
    return buffers.encode(request({ method: "POST", body })).length - bytes;
  };
  const room = WRITE_BUFFER_BYTES - head(10_000);
  for (const [bytes, hasBody] of [[room, true], [room + 1, false]] as const) {
    const body = new Uint8Array(bytes);
    const encoded = buffers.encode(request({ method: "POST", body }));
    assertEquals(encoded.hasBody, hasBody);
  }
});

test("encode() makes room for a head larger than a buffer", () => {
  const value = "v".repeat(WRITE_BUFFER_BYTES);
  const text = encoded({ headers: [["a", value]] });
  assertEquals(text, `GET / HTTP/1.1\r\na: ${value}\r\n\r\n`);
});

test("lend() never lends a buffer twice at once", () => {
  const buffers = new WriteBuffers();
  const first = buffers.lend();
  assertEquals(buffers.lend() === first, false);
  buffers.giveBack(first);
  assertEquals(buffers.lend() === first, true);
  assertEquals(buffers.lend() === first, false);
});

test("encode() gives its buffer back when it refuses", () => {
  const buffers = new WriteBuffers();
  const lent = buffers.lend();
  buffers.giveBack(lent);
  assertThrows(() => buffers.encode(request({ target: "" })), TypeError);
  assertEquals(buffers.lend() === lent, true);
});

test("encode() writes no line that was not asked for", () => {
  const text = fc.string({ unit: "binary", maxLength: 12 });
  fc.assert(
    fc.property(text, text, text, (target, name, value) => {
      let sent: string;
      try {
        sent = encoded({ target, headers: [[name, value]] });
      } catch (error) {
        assertEquals(error instanceof TypeError, true);
        return;
      }
      assertEquals(sent.split(/\r\n|\r|\n/), [
        `GET ${target} HTTP/1.1`,
        `${name.toLowerCase()}: ${value}`,
        "",
        "",
      ]);
    }),
    { numRuns: 2000 },
  );
});

test("isRepeatable() takes idempotent methods with whole bodies only", () => {
  const whole = new Uint8Array(1);
  const rows: readonly (readonly [Partial<UpstreamRequest>, boolean])[] = [
    [{ method: "POST" }, false],
    [{ method: "PATCH", body: whole }, false],
    [{ method: "get" }, false],
    [{ method: "PUT", body: { held: [whole], rest: REST } }, false],
    [{ method: "GET" }, true],
    [{ method: "PUT", body: whole }, true],
    [{ method: "DELETE", body: whole }, true],
  ];
  for (const [changes, wanted] of rows) {
    assertEquals(isRepeatable(request(changes)), wanted, changes.method);
  }
});
