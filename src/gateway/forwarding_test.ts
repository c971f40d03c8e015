/**
 * Whom the gateway believes about the way of a request.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Header } from "../core/request.ts";
import { test } from "../../tests/leakproof.ts";
import type { ClientRequest } from "./client_request.ts";
import { type ForwardingOptions, ForwardingRules } from "./forwarding.ts";

const NOBODY: ForwardingOptions = {
  trustedProxies: [],
  proxyFields: "x-forwarded",
  allowHeaders: [],
  hideHeaders: [],
};

const PROXIES: ForwardingOptions = {
  ...NOBODY,
  trustedProxies: ["10.0.0.0/8", "2001:db8::/32"],
};

function request(clientAddress: string, headers: Header[]): ClientRequest {
  return {
    head: { method: "GET", target: "/", headers: [["host", "gw"], ...headers] },
    body: undefined,
    clientAddress,
    scheme: "http",
    onGone: () => {},
  };
}

const SAID: Header[] = [
  ["forwarded", "for=9.9.9.9;proto=https;host=spoof"],
  ["x-forwarded-for", "9.9.9.9"],
  ["x-forwarded-host", "spoof"],
  ["x-forwarded-proto", "https"],
];

test("wayOf() believes nobody who is not trusted", () => {
  const table: [ForwardingOptions, string][] = [
    [NOBODY, "127.0.0.1"],
    [NOBODY, "10.0.0.1"],
    [PROXIES, "127.0.0.1"],
    [PROXIES, "11.0.0.1"],
    [PROXIES, "::1"],
    [PROXIES, "unix"],
    [{ ...PROXIES, proxyFields: "forwarded" }, "127.0.0.1"],
  ];
  for (const [options, peer] of table) {
    const way = new ForwardingRules(options).wayOf(request(peer, SAID));
    assertEquals(way, {
      clientAddress: peer,
      addresses: [peer],
      scheme: "http",
      host: "gw",
    });
  }
});

test("wayOf() goes back to the first address that is not trusted", () => {
  const rules = new ForwardingRules(PROXIES);
  const table: [peer: string, said: string | undefined, way: string][] = [
    ["10.0.0.1", undefined, "10.0.0.1"],
    ["10.0.0.1", "", "10.0.0.1"],
    ["10.0.0.1", "203.0.113.7", "203.0.113.7, 10.0.0.1"],
    ["::ffff:10.0.0.1", "203.0.113.7", "203.0.113.7, ::ffff:10.0.0.1"],
    ["10.0.0.1", "9.9.9.9, 203.0.113.7", "203.0.113.7, 10.0.0.1"],
    [
      "10.0.0.1",
      "9.9.9.9, 203.0.113.7, 10.0.0.2",
      "203.0.113.7, 10.0.0.2, 10.0.0.1",
    ],
    ["10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3, 10.0.0.2, 10.0.0.1"],
    ["10.0.0.1", "203.0.113.7:4711", "203.0.113.7, 10.0.0.1"],
    ["2001:db8::1", "[2001:db9::7]:4711", "2001:db9::7, 2001:db8::1"],
    ["2001:db8::1", "2001:db9::7", "2001:db9::7, 2001:db8::1"],
    ["10.0.0.1", "unknown", "10.0.0.1"],
    ["10.0.0.1", "9.9.9.9, unknown", "10.0.0.1"],
    ["10.0.0.1", "10.0.0.0/8", "10.0.0.1"],
    ["10.0.0.1", "9.9.9.9, 10.0.0.2\r\nx: y", "10.0.0.1"],
  ];
  for (const [peer, said, expected] of table) {
    const headers: Header[] = said === undefined
      ? []
      : [["x-forwarded-for", said]];
    const way = rules.wayOf(request(peer, headers));
    assertEquals(way.addresses.join(", "), expected, said);
    assertEquals(way.clientAddress, way.addresses[0]);
  }
});

test("wayOf() takes scheme and host over from a trusted proxy", () => {
  const rules = new ForwardingRules(PROXIES);
  const table: [string, string, string, string][] = [
    ["https", "public.example", "https", "public.example"],
    ["HTTPS", "public.example:8443", "https", "public.example:8443"],
    ["http, https", "a, b.example", "https", "b.example"],
    ["ftp", "a b", "http", "gw"],
    ["", "", "http", "gw"],
  ];
  for (const [proto, host, scheme, seen] of table) {
    const way = rules.wayOf(request("10.0.0.1", [
      ["x-forwarded-proto", proto],
      ["x-forwarded-host", host],
    ]));
    assertEquals([way.scheme, way.host], [scheme, seen]);
  }
});

test("wayOf() reads and extends forwarded alone where proxies speak that", () => {
  const rules = new ForwardingRules({ ...PROXIES, proxyFields: "forwarded" });
  const own = "for=10.0.0.1;proto=http;host=gw";
  const table: [string, string, string, string, string][] = [
    [
      "for=203.0.113.7",
      "203.0.113.7, 10.0.0.1",
      "http",
      "gw",
      "for=203.0.113.7",
    ],
    [
      "for=9.9.9.9;host=spoof, for=203.0.113.7;proto=https;host=public",
      "203.0.113.7, 10.0.0.1",
      "https",
      "public",
      "for=203.0.113.7;proto=https;host=public",
    ],
    [
      'for="[2001:db9::7]:99", for=10.0.0.2',
      "2001:db9::7, 10.0.0.2, 10.0.0.1",
      "http",
      "gw",
      'for="[2001:db9::7]:99", for=10.0.0.2',
    ],
    ["for=unknown;proto=https", "10.0.0.1", "http", "gw", ""],
  ];
  for (const [value, addresses, scheme, host, believed] of table) {
    const way = rules.wayOf(request("10.0.0.1", [
      ["forwarded", value],
      ["x-forwarded-for", "9.9.9.9"],
    ]));
    assertEquals(way.addresses.join(", "), addresses, value);
    assertEquals([way.scheme, way.host], [scheme, host], value);
    const written = believed === "" ? own : `${believed}, ${own}`;
    assertEquals(way.forwarded, written);
  }
  const unread = rules.wayOf(request("10.0.0.1", [["forwarded", "for=a,"]]));
  assertEquals(unread.addresses, ["10.0.0.1"]);
  assertEquals(unread.forwarded, undefined);
});

test("whatever an untrusted client says, its own address is the client's", () => {
  const rules = new ForwardingRules(PROXIES);
  const part = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.string({ unit: "binary-ascii" }),
  );
  fc.assert(fc.property(fc.array(part), fc.ipV4(), (parts, client) => {
    fc.pre(!client.startsWith("10."));
    const said = [...parts, client].join(", ");
    const way = rules.wayOf(
      request("10.0.0.1", [["x-forwarded-for", said]]),
    );
    assertEquals(way.addresses, [client, "10.0.0.1"]);
    assert(!way.addresses.join().includes("\n"));
  }));
});

test("passed() drops what nobody here has seen to, however it is spelled", () => {
  const fields = [
    "x-forwarded-user",
    "true-client-ip",
    "x-original-url",
    "x-data-parallel-rank",
    "x_data_parallel_rank",
    "x_forwarded_for",
    "x_tryst_priority",
  ].map((name): Header => [name, "1"]);
  const kept: Header[] = [["x_own_field", "1"], ["x-own-field", "1"]];
  const rules = new ForwardingRules(NOBODY);
  const additions = {
    host: "engine",
    requestId: "id",
    hidesKeys: false,
    credential: undefined,
  };
  const arrival = request("127.0.0.1", [...fields, ...kept]);
  const names = rules.passed(arrival, additions).map(([name]) => name);
  const own = names.filter((name) => /_|^x-own|^x-data|client|orig/.test(name));
  assertEquals(own, ["x_own_field", "x-own-field"]);
});
