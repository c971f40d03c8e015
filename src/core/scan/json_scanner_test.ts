/** Tests of the scanner; `tests/fuzz` holds it against `JSON.parse`. @module */
import { assertEquals } from "@std/assert";
import { test } from "../../../tests/leakproof.ts";
import { JsonScanner } from "./json_scanner.ts";
import { MemberPaths } from "./member_paths.ts";

const PATHS = [
  ["session_id"],
  ["metadata", "user_id"],
  ["conversation"],
  ["conversation", "id"],
  ["stream"],
];
const TREE = new MemberPaths(
  PATHS.map((members) => ({ members, bytesMax: 1024 })),
);
const ALL_BITS = (1 << PATHS.length) - 1;

interface Row {
  readonly name: string;
  readonly body: string | Uint8Array;
  readonly finds: readonly string[];
  readonly status?: string;
}

const ROWS: readonly Row[] = [
  {
    name: "a key after a byte order mark (C11 iisexpress-proxy #8)",
    body: '\ufeff {"session_id":"x"}',
    finds: ["session_id=x"],
  },
  {
    name: "an escaped name (C2)",
    body: '{"\\u0073ession_id":"x"}',
    finds: ["session_id=x"],
  },
  {
    name: "escapes in name and value (escapes / split chunks)",
    body: '{"session\\u005fid":"a\\u0062c"}',
    finds: ["session_id=abc"],
  },
  {
    name: "no member inside a prompt (C3 vllm-router)",
    body: '{"prompt":"say \\"session_id\\": \\"eve\\"","session_id":"bob"}',
    finds: ["session_id=bob"],
  },
  {
    name: "no member inside an array (PS key matched at any depth)",
    body: '{"messages":[{"session_id":"evil"}],"session_id":"good"}',
    finds: ["session_id=good"],
  },
  {
    name: "no member at another depth (PS key matched at any depth)",
    body: '{"metadata":{"session_id":"x"},"user_id":"y"}',
    finds: [],
  },
  {
    name: "values with lone surrogates elsewhere (C7 rllm #879)",
    body: '{"messages":[{"content":"\\ud83d"}],"session_id":"x"}',
    finds: ["session_id=x"],
  },
  {
    name: "duplicates in order, for the receiver to choose (C1 GoModel #870)",
    body: '{"session_id":"a","session_id":"b"}',
    finds: ["session_id=a", "session_id=b"],
  },
  {
    name: "no absent kinds (PS id value types)",
    body: '{"session_id":null,"session_id":"","session_id":" ",' +
      '"session_id":[1],"session_id":{"a":1}}',
    finds: [],
  },
  {
    name: "numbers as their tokens (PS id value types)",
    body: '{"session_id":42,"session_id":12345678901234567890}',
    finds: ["session_id=42", "session_id=12345678901234567890"],
  },
  {
    name: "a path that is a leaf and a prefix",
    body: '{"conversation":"a","conversation":{"id":"b"}}',
    finds: ["conversation=a", "conversation.id=b"],
  },
  {
    name: "members in blanks",
    body: ' \n{\t"stream"\r: true , "session_id" :\n"x" } ',
    finds: ["stream=true", "session_id=x"],
  },
  {
    name: "nothing after the root object",
    body: '{"stream":false}{"session_id":"x"}',
    finds: ["stream=false"],
  },
  { name: "nothing in an empty object", body: "{}", finds: [] },
];

test("scanner gives up on what is not a JSON object", async (t) => {
  const bodies = ["", "[]", '"hi"', "{", "nul", "42", '{"session_id":', "<a>"];
  const broken = ["{,}", '{"a"}', '{"a":}', '{"a":1,}', "{1:2}", '{"a":1 2}'];
  const more = ['{"a" 1}', '{"session_id":"x', '{"a":"b"]', "\ufeff\ufeff{}"];
  for (const body of [...bodies, ...broken, ...more]) {
    await t.step(`C9 dario #1231: ${body}`, () => {
      expect({ name: body, body, finds: [], status: "gave_up" });
    });
  }
});

test("scanner keeps what it found before the fault", () => {
  const finds = ["session_id=x"];
  for (const rest of ["", ",", ",1}", "]", ',"a":tru}', ',"a":01}']) {
    const body = `{"session_id":"x"${rest}`;
    expect({ name: rest, body, finds, status: "gave_up" });
  }
});

test("scanner does not report a value whose end is broken", () => {
  for (const value of ["12x", "truex", '"\\q"', '"a\nb"', "-"]) {
    const body = `{"session_id":${value},"stream":true}`;
    expect({ name: value, body, finds: [], status: "gave_up" });
  }
});

test("scanner survives bytes that are not UTF-8 (C8 llama.cpp #9195)", () => {
  const text = '{"a":"\u00ff\u00fe","session_id":"\u00ff"}';
  const body = Uint8Array.from(text, (unit) => unit.charCodeAt(0));
  expect({ name: "C8", body, finds: ["session_id=\ufffd"] });
});

test("scanner finds members and nothing else", async (t) => {
  for (const row of ROWS) await t.step(row.name, () => expect(row));
});

test("scanner nests without limit in constant memory (C10)", () => {
  const deep = "[".repeat(100_000);
  const whole = `{"a":${deep}${"]".repeat(100_000)},"session_id":"x"}`;
  assertEquals(scan([encode(whole)]).finds, ["session_id=x"]);
  assertEquals(scan([encode(deep)]).status, "gave_up");
  assertEquals(scan([encode(`{"a":${deep}`)]).status, "gave_up");
  const objects = '{"a":'.repeat(100_000);
  assertEquals(scan([encode(objects)]).status, "gave_up");
});

test("scanner finds a key in a body of two chunks (C16 envoy #27133)", () => {
  const text = JSON.stringify({ m: "x".repeat(69_700), session_id: "k" });
  const bytes = encode(text);
  for (let cut = bytes.length - 40; cut <= bytes.length; cut++) {
    const chunks = [bytes.subarray(0, cut), bytes.subarray(cut)];
    assertEquals(scan(chunks).finds, ["session_id=k"], `cut at ${cut}`);
  }
});

test("scanner finds a key at byte 20,000 (C17 haproxy bufsize)", () => {
  const text = JSON.stringify({ m: "x".repeat(20_000), session_id: "k" });
  assertEquals(scan([encode(text)]).finds, ["session_id=k"]);
});

test("scanner looks at no byte after it was stopped", () => {
  const finds: string[] = [];
  const sink = {
    found: (index: number) => finds.push(String(PATHS[index])) && 0,
  };
  const scanner = new JsonScanner(TREE, sink, ALL_BITS);
  assertEquals(scanner.push(encode('{"session_id":"x","str')), "stopped");
  const poisoned = new Proxy(new Uint8Array(9), {
    get(target, name) {
      if (name === "length") return target.length;
      throw new Error("Cannot look at a byte after the stop");
    },
  });
  assertEquals(scanner.push(poisoned), "stopped");
  assertEquals(scanner.end(), "stopped");
  assertEquals(finds, ["session_id"]);
});

test("scanner that nobody wants anything from looks at no byte", () => {
  const scanner = new JsonScanner(TREE, { found: () => 0 }, 0);
  assertEquals(scanner.push(encode("not JSON")), "stopped");
});

test("scanner skips members that stopped to matter", () => {
  const finds: string[] = [];
  const onlyStream = 1 << 4;
  const sink = {
    found(index: number) {
      finds.push(PATHS[index]?.join(".") ?? "");
      return onlyStream;
    },
  };
  const scanner = new JsonScanner(TREE, sink, ALL_BITS);
  const text = '{"session_id":1,"session_id":2,"metadata":{"user_id":"u"},' +
    '"conversation":{"id":3},"stream":true}';
  scanner.push(encode(text));
  assertEquals(finds, ["session_id", "stream"]);
});

/** Scans in one piece and byte by byte; both must give the row's result. */
function expect(row: Row): void {
  const bytes = typeof row.body === "string" ? encode(row.body) : row.body;
  const wanted = { finds: [...row.finds], status: row.status ?? "ended" };
  assertEquals(scan([bytes]), wanted, row.name);
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  assertEquals(scan(single), wanted, `${row.name}, byte by byte`);
}

function scan(
  chunks: readonly Uint8Array[],
): { finds: string[]; status: string } {
  const finds: string[] = [];
  const scanner = new JsonScanner(TREE, {
    found(index, value) {
      const shown = value.kind === "boolean"
        ? value.value
        : new TextDecoder().decode(value.bytes);
      finds.push(`${PATHS[index]?.join(".")}=${shown}`);
      return ALL_BITS;
    },
  }, ALL_BITS);
  for (const chunk of chunks) scanner.push(chunk);
  return { finds, status: scanner.end() };
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
