/**
 * What tenants may is read whole, and told by its place where it is wrong.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { digestOfKey } from "../core/tenants/api_keys.ts";
import { Refusal } from "./complaint.ts";
import type { Spot } from "./field.ts";
import { parseKeyLines } from "./key_lines.ts";
import { readTenants, type TenantSettings } from "./tenants.ts";

function spot(): Spot {
  return {
    origin: "tenants",
    names: {
      parseSource: () => {},
      defaultSources: [],
      policyNames: [],
      schedulingNames: [],
    },
    complaints: [],
  };
}

const NOTHING: TenantSettings = {
  rate: undefined,
  concurrent: undefined,
  queued: undefined,
  bodyBytes: undefined,
  priorityMax: undefined,
  models: undefined,
  key: {
    rate: undefined,
    concurrent: undefined,
    queued: undefined,
    bodyBytes: undefined,
  },
};

test("readTenants() complains on what is of no use, by its place", () => {
  const rows: { readonly value: unknown; readonly origin: string }[] = [
    { value: { red: 1 }, origin: "tenants.red" },
    { value: { red: { rps: 1 } }, origin: "tenants.red.rps" },
    {
      value: { red: { __proto__: 1, constructor: 1 } },
      origin: "tenants.red.constructor",
    },
    { value: { "a b": {} }, origin: 'tenants."a b"' },
    { value: { "-a": {} }, origin: "tenants.-a" },
    { value: { red: { concurrent: -1 } }, origin: "tenants.red.concurrent" },
    { value: { red: { queued: 1.5 } }, origin: "tenants.red.queued" },
    { value: { red: { body: "1KB" } }, origin: "tenants.red.body" },
    { value: { red: { models: "a" } }, origin: "tenants.red.models" },
    { value: { red: { models: [""] } }, origin: "tenants.red.models" },
    {
      value: { red: { priority_max: 30 } },
      origin: "tenants.red.priority_max",
    },
    { value: { red: { burst: 5 } }, origin: "tenants.red.burst" },
    { value: { red: { key_burst: 5 } }, origin: "tenants.red.key_burst" },
    {
      value: { default: { requests_per_second: 0 } },
      origin: "tenants.default.requests_per_second",
    },
  ];
  for (const { origin, value } of rows) {
    const at = spot();
    readTenants(value, at);
    assertEquals(at.complaints.map((one) => one.origin), [origin]);
  }
});

test("readTenants() refuses what is no mapping, or too large a one", () => {
  const name = (index: number) => [`t${index}`, {}];
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => name(i)));
  for (const value of [null, [], "red", many(1_025)]) {
    assertThrows(() => readTenants(value, spot()), Refusal);
  }
  assertEquals(readTenants(many(1_024), spot()).listed.length, 1_024);
});

test("readTenants() takes from default what a tenant lacks", () => {
  const at = spot();
  const { listed, others } = readTenants({
    red: { requests_per_second: 3, queued: 0 },
    blue: { requests_per_second: "none", concurrent: "none", models: ["m"] },
    green: null,
    default: {
      requests_per_second: 2.5,
      burst: 10,
      concurrent: 4,
      body: "1MiB",
      key_requests_per_second: 0.5,
    },
  }, at);
  assertEquals(at.complaints, []);
  const key = { ...NOTHING.key, rate: { perSecond: 0.5, burst: 1 } };
  const general: TenantSettings = {
    ...NOTHING,
    rate: { perSecond: 2.5, burst: 10 },
    concurrent: 4,
    bodyBytes: 1_048_576,
    key,
  };
  assertEquals(others, general);
  assertEquals(listed, [
    {
      name: "red",
      settings: { ...general, rate: { perSecond: 3, burst: 3 }, queued: 0 },
    },
    {
      name: "blue",
      settings: {
        ...general,
        rate: undefined,
        concurrent: undefined,
        models: ["m"],
      },
    },
    { name: "green", settings: general },
  ]);
});

const SECRET = "sk-0123456789abcdef";

test("parseKeyLines() refuses by the line, and shows no key", () => {
  const rows = [
    { text: SECRET, why: "want TENANT:KEY" },
    { text: `:${SECRET}`, why: "want a tenant" },
    { text: `a b:${SECRET}`, why: "want TENANT:KEY" },
    { text: `default:${SECRET}`, why: "stands for all tenants" },
    { text: "red:", why: "want a key of 16" },
    { text: `red:${SECRET.slice(0, 15)}`, why: "want a key of 16" },
    { text: `red:${"x".repeat(513)}`, why: "want a key of 16 to 512" },
    { text: `red:${SECRET}\u00e9`, why: "visible ASCII" },
    { text: `red:sha256=${"a".repeat(63)}`, why: "64 hex digits" },
    { text: `red:${SECRET} until=2027-01-31`, why: "want TENANT:KEY" },
    { text: `red:${SECRET} expires=2027-1-31`, why: "want TENANT:KEY" },
    { text: `red:${SECRET} expires=2027-02-29`, why: "day of the calendar" },
    { text: `red:${SECRET} expires=2027-13-01`, why: "day of the calendar" },
    { text: `red:${SECRET} expires=2027-01-31 x`, why: "want TENANT:KEY" },
    { text: `red:${SECRET}\nblue:${SECRET}`, why: "repeats line 2", line: 3 },
  ];
  for (const { line = 2, text, why } of rows) {
    const error = assertThrows(
      () => parseKeyLines(`# keys\n${text}`),
      TypeError,
    );
    assertEquals(error.message.includes(SECRET.slice(0, 15)), false);
    assertEquals(
      [error.message.includes(why), error.message.includes(`line ${line} `)],
      [true, true],
      error.message,
    );
  }
});

test("parseKeyLines() reads keys, digests, dates and comments", () => {
  const digest = digestOfKey(SECRET);
  const lines = [
    "# comment",
    "",
    `  red:${SECRET}  `,
    `blue:sha256=${digestOfKey("other").toUpperCase()}\texpires=2028-02-29`,
    `red:a:b:c:sha256=0123456789\r`,
    `red:${"x".repeat(16)} expires=1970-01-01`,
  ];
  assertEquals(parseKeyLines(lines.join("\n")), [
    { tenant: "red", digest, expiresAtMs: undefined },
    {
      tenant: "blue",
      digest: digestOfKey("other"),
      expiresAtMs: Date.UTC(2028, 1, 29),
    },
    {
      tenant: "red",
      digest: digestOfKey("a:b:c:sha256=0123456789"),
      expiresAtMs: undefined,
    },
    { tenant: "red", digest: digestOfKey("x".repeat(16)), expiresAtMs: 0 },
  ]);
  assertEquals(parseKeyLines(""), []);
});

test("parseKeyLines() reads every day as the calendar has it", () => {
  const day = fc.integer({ min: 0, max: 2_900_000 });
  fc.assert(fc.property(day, (day) => {
    const ms = day * 86_400_000;
    const date = new Date(ms).toISOString().slice(0, 10);
    const [key] = parseKeyLines(`red:${SECRET} expires=${date}`);
    assertEquals(key?.expiresAtMs, ms, date);
  }));
});
