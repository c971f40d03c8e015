/** Tests of the compiled list of sources. @module */
import type { HeaderList, RequestHead } from "../request.ts";
import type { SessionKeySource } from "../session_key_source.ts";
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { headerValue } from "../request.ts";
import { hashKey } from "../session_key.ts";
import { KeyPlan, SESSION_KEY_SOURCES_MAX } from "./key_plan.ts";

test("KeyPlan refuses too many sources and members", () => {
  const sources = (count: number, make: (name: string) => SessionKeySource) =>
    Array.from({ length: count }, (_, index) => make(`s${index}`));
  const limit = SESSION_KEY_SOURCES_MAX;
  new KeyPlan(sources(limit, header));
  const message = `current count is ${limit + 1}`;
  assertThrows(
    () => new KeyPlan(sources(limit + 1, header)),
    TypeError,
    message,
  );
  new KeyPlan(sources(28, body));
  assertThrows(() => new KeyPlan(sources(29, body)), TypeError, "body members");
});

test("fromHead() takes the first source with a usable value", () => {
  const plan = new KeyPlan([header("a"), elsewhere("b"), header("c")]);
  const rows: readonly (readonly [HeaderList, string?, number?])[] = [
    [[]],
    [[["x", "1"]]],
    [[["a", ""], ["c", " \t"]]],
    [[["c", "3"]], "3", 2],
    [[["c", "3"], ["a", "1"]], "1", 0],
    [[["a", ""], ["c", "3"]], "3", 2],
    [[["c", "3"], ["b", "2"]], "2", 1],
    [[["a", "1"], ["b", "2"]], "1", 0],
    [[["a", ""], ["a", "2"]], "2", 0],
    [[["a", "1"], ["a", "2"]], "1", 0],
  ];
  for (const [headers, value, rank] of rows) {
    const found = plan.fromHead(head(headers));
    assertEquals(found?.sourceIndex, rank, JSON.stringify(headers));
    assertEquals(found?.hash, value && hash(value), JSON.stringify(headers));
  }
});

test("fromHead() treats an empty header as absent (PS empty header)", () => {
  const plan = new KeyPlan([header("x-session-id"), body("session_id")]);
  const found = plan.fromHead(head([["x-session-id", ""]]));
  const sniff = plan.createSniff(found, { needModel: false });
  sniff.push(encode('{"session_id":"s1"}'));
  assertEquals(found, undefined);
  assertEquals(sniff.found, { hash: hash("s1"), sourceIndex: 1 });
});

test("fromHead() filters header values, up to 8,192 bytes", () => {
  const filter = (value: Uint8Array) =>
    value.length > 2 ? value.subarray(2) : undefined;
  const plan = new KeyPlan([{ ...header("a"), filter }]);
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["ab", undefined],
    ["abc", "c"],
    ["x".repeat(8192), "x".repeat(8190)],
    ["x".repeat(8193), undefined],
  ];
  for (const [value, key] of rows) {
    const found = plan.fromHead(head([["a", value]]));
    assertEquals(found?.hash, key && hash(key), `${value.length} bytes`);
  }
});

test("KeyPlan names one session from head and body alike", () => {
  const plan = new KeyPlan([header("a"), body("a")]);
  // Escapes, UTF-8 and over-long values come to the same bytes.
  const values = ["42", "a/b", "\u00e9", "日本", "\u{1f600}", "k".repeat(5000)];
  for (const value of values) {
    const bytes = encode(value);
    const latin1 = Array.from(bytes, (byte) => String.fromCharCode(byte));
    const fromHead = plan.fromHead(head([["a", latin1.join("")]]));
    for (const text of [JSON.stringify(value), escaped(value)]) {
      const sniff = plan.createSniff(undefined, { needModel: false });
      sniff.push(encode(`{"a":${text}}`));
      assertEquals(sniff.found?.hash, fromHead?.hash, text.slice(0, 40));
    }
  }
});

test("bodyMayImprove() looks at the ranks", () => {
  const plan = new KeyPlan([header("a"), body("a"), header("b")]);
  const found = (sourceIndex: number) => ({
    hash: { a: 1, b: 2 },
    sourceIndex,
  });
  assertEquals(plan.sourceNames, ["header:a", "body:a", "header:b"]);
  assertEquals(plan.bodyMayImprove(undefined), true);
  assertEquals(plan.bodyMayImprove(found(0)), false);
  assertEquals(plan.bodyMayImprove(found(2)), true);
  assertEquals(new KeyPlan([header("a")]).bodyMayImprove(undefined), false);
});

test("createSniff() is undecided for a model alone", () => {
  const plan = new KeyPlan([header("a")]);
  const needless = plan.createSniff(undefined, { needModel: false });
  assertEquals(needless.isDecided, true);
  const sniff = plan.createSniff(undefined, { needModel: true });
  assertEquals(sniff.push(encode('{"model":"m"')), true);
  assertEquals(sniff.model, "m");
});

test("KeyPlan comes to what asking every source in order comes to", () => {
  const names = fc.constantFrom("a", "b", "c", "d");
  const sources = fc.uniqueArray(fc.tuple(fc.nat({ max: 2 }), names), {
    selector: ([kind, name]) => `${kind}${name}`,
    maxLength: 12,
  });
  const value = fc.constantFrom("", " ", "1", "2", "x");
  const headers = fc.array(fc.tuple(names, value), { maxLength: 6 });
  const members = fc.dictionary(names, value);
  fc.assert(fc.property(sources, headers, members, (list, fields, object) => {
    const makers = [header, body, elsewhere];
    const plan = new KeyPlan(
      list.map(([kind, name]) => (makers[kind] ?? header)(name)),
    );
    const values = list.map(([kind, name]) => {
      if (kind === 1) return Object.hasOwn(object, name) ? object[name] : "";
      if (kind === 2) return headerValue(fields, name);
      return fields.find((field) => field[0] === name && field[1].trim())?.[1];
    });
    const best = values.findIndex((text) => (text ?? "").trim() !== "");
    const sniff = plan.createSniff(plan.fromHead(head(fields)), {
      needModel: false,
    });
    sniff.push(encode(JSON.stringify(object)));
    assertEquals(sniff.found?.sourceIndex ?? -1, best);
    assertEquals(sniff.found?.hash, best < 0 ? undefined : hash(values[best]));
  }));
});

/** A source that the plan finds in its one pass. */
function header(name: string): SessionKeySource & { readonly kind: "head" } {
  return { ...elsewhere(name), name: `header:${name}`, header: name };
}

/** A source that the plan has to ask. */
function elsewhere(name: string): SessionKeySource & { readonly kind: "head" } {
  return {
    name: `elsewhere:${name}`,
    kind: "head",
    find: ({ headers }) => {
      const value = headerValue(headers, name);
      return value === undefined ? undefined : encode(value);
    },
  };
}

function body(name: string): SessionKeySource {
  return { name: `body:${name}`, kind: "body", path: [name] };
}

function head(headers: HeaderList): RequestHead {
  return { method: "POST", target: "/v1/chat/completions", headers };
}

function hash(value: string | undefined) {
  return hashKey(encode(value ?? ""));
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** A JSON string in which every code unit is escaped. */
function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => {
    return `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`;
  });
  return `"${units.join("")}"`;
}
