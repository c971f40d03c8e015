import { assertEquals, assertThrows } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { type Framing, framingOf } from "./response_framing.ts";
import type { ResponseHead } from "./response_head.ts";
import { UpstreamError } from "./upstream_error.ts";

type Fields = ResponseHead["headers"];

function head(
  fields: Fields,
  { status = 200, minor = 1 }: { status?: number; minor?: number } = {},
): ResponseHead {
  return { status, reason: "", minor, headers: fields };
}

function sized(value: string): Fields {
  return [["content-length", value]];
}

function coded(value: string): Fields {
  return [["transfer-encoding", value]];
}

test("framingOf() refuses what can be read in two ways", () => {
  const rows: readonly (readonly [name: string, head: ResponseHead])[] = [
    ["both framings", head([...sized("5"), ...coded("chunked")])],
    ["both, the other way", head([...coded("chunked"), ...sized("5")])],
    ["lengths that differ", head([...sized("5"), ...sized("6")])],
    ["a list of lengths that differ", head(sized("5, 6"))],
    ["an empty length", head(sized(""))],
    ["a length of a list with a hole", head(sized("5,,5"))],
    ["a signed length", head(sized("+5"))],
    ["a negative length", head(sized("-5"))],
    ["a hexadecimal length", head(sized("0x5"))],
    ["a fraction", head(sized("5.0"))],
    ["a length with a space", head(sized("1 0"))],
    ["a length after a no-break space", head(sized("5,\u00a05"))],
    ["a length of 16 digits", head(sized("1000000000000000"))],
    ["gzip and chunked", head(coded("gzip, chunked"))],
    ["identity", head(coded("identity"))],
    ["chunked with a parameter", head(coded("chunked;q=1"))],
    ["an empty coding", head(coded(""))],
    ["chunked twice", head([...coded("chunked"), ...coded("chunked")])],
    ["chunked in a list twice", head(coded("chunked, chunked"))],
    ["chunked after a vertical tab", head(coded("\u000bchunked"))],
    ["chunked in HTTP/1.0", head(coded("chunked"), { minor: 0 })],
    ["a length in a 100", head(sized("5"), { status: 100 })],
    ["a coding in a 103", head(coded("chunked"), { status: 103 })],
    [
      "both framings in a 204",
      head([...sized("5"), ...coded("chunked")], { status: 204 }),
    ],
  ];
  for (const [name, ambiguous] of rows) {
    for (const method of ["GET", "HEAD"]) {
      assertThrows(
        () => framingOf(ambiguous, method),
        UpstreamError,
        "Cannot read the response",
        name,
      );
    }
  }
});

test("framingOf() decides as RFC 9112, 6.3 has it", () => {
  const rows: readonly (readonly [
    name: string,
    head: ResponseHead,
    method: string,
    wanted: Pick<Framing, "kind" | "length" | "isReusable">,
  ])[] = [
    ["a length", head(sized("5")), "GET", length(5)],
    ["no bytes", head(sized("0")), "GET", length(0)],
    ["leading zeros", head(sized("005")), "GET", length(5)],
    ["15 digits", head(sized("9".repeat(15))), "GET", length(1e15 - 1)],
    ["equal lengths", head([...sized("5"), ...sized("5")]), "GET", length(5)],
    ["an equal list", head(sized("5,\t5 ,05")), "GET", length(5)],
    ["chunked", head(coded("chunked")), "POST", without("chunked", true)],
    ["Chunked", head(coded("Chunked")), "POST", without("chunked", true)],
    ["neither", head([]), "GET", without("close", false)],
    ["HEAD", head(sized("5")), "HEAD", without("none", true)],
    ["HEAD, chunked", head(coded("chunked")), "HEAD", without("none", true)],
    ["HEAD, neither", head([]), "HEAD", without("none", true)],
    ["204", head([], { status: 204 }), "GET", without("none", true)],
    [
      "204 with a body framed",
      head(sized("5"), { status: 204 }),
      "GET",
      without("none", false),
    ],
    ["304", head(sized("5"), { status: 304 }), "GET", without("none", true)],
    ["100", head([], { status: 100 }), "GET", without("none", true)],
    ["HTTP/1.0", head(sized("5"), { minor: 0 }), "GET", {
      ...length(5),
      isReusable: false,
    }],
  ];
  for (const [name, given, method, wanted] of rows) {
    const { kind, length, isReusable } = framingOf(given, method);
    assertEquals({ kind, length, isReusable }, wanted, name);
  }
});

test("framingOf() hears every spelling of close", () => {
  const rows: readonly (readonly [value: string, isReusable: boolean])[] = [
    ["close", false],
    ["Close", false],
    ["keep-alive, close", false],
    ["close , x", false],
    ["keep-alive", true],
    ["closed", true],
    ["", true],
  ];
  for (const [value, isReusable] of rows) {
    const given = head([...sized("0"), ["connection", value]]);
    assertEquals(framingOf(given, "GET").isReusable, isReusable, value);
  }
});

test("framingOf() makes equal lengths one field", () => {
  const fields: Fields = [
    ["a", "1"],
    ["content-length", "5"],
    ["b", "2"],
    ["content-length", "5, 5"],
  ];
  assertEquals(framingOf(head(fields), "GET").headers, [
    ["a", "1"],
    ["b", "2"],
    ["content-length", "5"],
  ]);
});

function length(bytes: number): {
  kind: "length";
  length: number;
  isReusable: boolean;
} {
  return { kind: "length", length: bytes, isReusable: true };
}

function without<Kind extends "none" | "chunked" | "close">(
  kind: Kind,
  isReusable: boolean,
): { kind: Kind; length: number; isReusable: boolean } {
  return { kind, length: 0, isReusable };
}
