/**
 * Frames are read the same however they were split, and none that breaks a
 * rule is read at all.
 *
 * @module
 */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { test } from "../../../tests/leakproof.ts";
import { FrameError } from "./websocket_frame.ts";
import { FrameReader } from "./websocket_reader.ts";

const MESSAGE_BYTES_MAX = 1_000;

/** What a sink was told, as text. */
function reader(): { reader: FrameReader; told: string[] } {
  const told: string[] = [];
  const reader = new FrameReader({
    onMessage: (data, byteCount) =>
      told.push(
        typeof data === "string"
          ? `text ${byteCount} ${data}`
          : `binary ${byteCount} ${data.join()}`,
      ),
    onPing: (payload) => told.push(`ping ${payload.join()}`),
    onClose: ({ code, reason }) => told.push(`close ${code} ${reason}`),
  }, MESSAGE_BYTES_MAX);
  return { reader, told };
}

/** A server's frame in the shortest form. */
function frame(first: number, payload: readonly number[] = []): number[] {
  const { length } = payload;
  return length < 126
    ? [first, length, ...payload]
    : [first, 126, length >> 8, length & 255, ...payload];
}

function bytes(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

test("push() refuses what breaks the protocol", () => {
  const rows: [name: string, code: number, bytes: number[]][] = [
    ["first reserved bit", 1002, [0xc1, 0]],
    ["last reserved bit", 1002, [0x91, 0]],
    ["masked", 1002, [0x81, 0x80]],
    ["opcode 3", 1002, [0x83, 0]],
    ["opcode 7", 1002, [0x87, 0]],
    ["opcode 11", 1002, [0x8b, 0]],
    ["fragmented ping", 1002, [0x09, 0]],
    ["ping of 126 bytes", 1002, [0x89, 126]],
    ["continuation of nothing", 1002, [0x80, 0]],
    ["text within text", 1002, [0x01, 0, 0x81, 0]],
    ["binary within text", 1002, [0x01, 0, 0x02, 0]],
    ["16 bits for 125", 1002, [0x82, 126, 0, 125]],
    ["64 bits for 65,535", 1002, [0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255]],
    ["64th bit", 1002, [0x82, 127, 0x80, 0, 0, 0, 0, 1, 0, 0]],
    ["over the limit", 1009, [0x82, 126, 3, 233]],
    ["far over it", 1009, [0x82, 127, 0, 255, 0, 0, 0, 0, 0, 0]],
    ["over it together", 1009, [
      ...frame(0x02, new Array(999).fill(0)),
      0x80,
      2,
    ]],
    ["no UTF-8", 1007, frame(0x81, [0xc3, 0x28])],
    ["cut UTF-8", 1007, frame(0x81, [0xe2, 0x82])],
    ["surrogate", 1007, frame(0x81, [0xed, 0xa0, 0x80])],
    ["close of one byte", 1002, frame(0x88, [3])],
    ["close 999", 1002, frame(0x88, [3, 231])],
    ["close 1004", 1002, frame(0x88, [3, 236])],
    ["close 1005", 1002, frame(0x88, [3, 237])],
    ["close 1006", 1002, frame(0x88, [3, 238])],
    ["close 1015", 1002, frame(0x88, [3, 247])],
    ["close 2999", 1002, frame(0x88, [11, 183])],
    ["close 5000", 1002, frame(0x88, [19, 136])],
    ["reason that is no UTF-8", 1007, frame(0x88, [3, 232, 0xff])],
  ];
  for (const [name, code, input] of rows) {
    const { reader: it, told } = reader();
    const error = assertThrows(
      () => it.push(Uint8Array.from(input)),
      FrameError,
      undefined,
      name,
    );
    assertEquals(error.code, code, name);
    assertEquals(told, [], name);
  }
  const { reader: it, told } = reader();
  const behindTheEnd = Uint8Array.of(0x01, 0, 0x80, 0, 0x80, 0);
  assertThrows(() => it.push(behindTheEnd), FrameError, "out of step");
  assertEquals(told, ["text 0 "]);
});

test("push() reads messages, pings and closes", () => {
  const rows: [name: string, bytes: number[], told: string[]][] = [
    ["nothing", [], []],
    ["half a head", [0x81], []],
    ["empty text", [0x81, 0], ["text 0 "]],
    ["empty binary", [0x82, 0], ["binary 0 "]],
    ["text", frame(0x81, bytes("h\u00e9")), ["text 3 h\u00e9"]],
    ["a mark at the start", frame(0x81, bytes("\ufeffx")), ["text 4 \ufeffx"]],
    ["at the limit", frame(0x82, new Array(1_000).fill(7)), [
      `binary 1000 ${new Array(1_000).fill(7).join()}`,
    ]],
    ["fragments at the limit", [
      ...frame(0x02, new Array(999).fill(7)),
      ...frame(0x80, [7]),
    ], [`binary 1000 ${new Array(1_000).fill(7).join()}`]],
    ["the limit is a message's", [
      ...frame(0x82, new Array(999).fill(7)),
      ...frame(0x81, bytes("ab")),
    ], [`binary 999 ${new Array(999).fill(7).join()}`, "text 2 ab"]],
    ["a character in two fragments, a ping between", [
      ...frame(0x01, [0xc3]),
      ...frame(0x89, [1, 2]),
      ...frame(0x00),
      ...frame(0x80, [0xa9]),
    ], ["ping 1,2", "text 2 \u00e9"]],
    ["a pong says nothing", frame(0x8a, [1]), []],
    ["close", frame(0x88), ["close undefined "]],
    ["close with a reason", frame(0x88, [3, 232, ...bytes("\u00e9")]), [
      "close 1000 \u00e9",
    ]],
    ["what follows a close", [...frame(0x88), 0xff, 0xff], [
      "close undefined ",
    ]],
  ];
  for (const [name, input, expected] of rows) {
    const { reader: it, told } = reader();
    it.push(Uint8Array.from(input));
    assertEquals(told, expected, name);
  }
});

/** Frames that make sense one after the other. */
const stream = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constantFrom(0x1, 0x2),
      parts: fc.array(
        fc.array(fc.integer({ min: 0, max: 127 }), { maxLength: 150 }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
    fc.record({
      kind: fc.constantFrom(0x9, 0xa),
      parts: fc.tuple(
        fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 125 }),
      ),
    }),
  ),
  { maxLength: 6 },
).map((messages) =>
  messages.flatMap(({ kind, parts }) =>
    parts.flatMap((part, index) => {
      const isLast = index === parts.length - 1;
      const opcode = index === 0 ? kind : 0;
      return frame((isLast ? 0x80 : 0) | opcode, part);
    })
  )
);

test("push() tells the same however the bytes are split", () => {
  const splits = fc.array(fc.integer({ min: 1, max: 200 }), {
    minLength: 1,
    maxLength: 20,
  });
  fc.assert(fc.property(stream, splits, (input, sizes) => {
    const whole = reader();
    whole.reader.push(Uint8Array.from(input));
    const parts = reader();
    // One buffer for all reads, as a socket's reader has it.
    const buffer = new Uint8Array(200);
    let at = 0;
    for (let i = 0; at < input.length; i++) {
      const part = input.slice(at, at + (sizes[i % sizes.length] ?? 1));
      buffer.fill(0xee).set(part);
      parts.reader.push(buffer.subarray(0, part.length));
      at += part.length;
    }
    assertEquals(parts.told, whole.told);
  }));
});

test("push() never throws anything but a FrameError", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), (input) => {
    const { reader: it } = reader();
    try {
      it.push(input);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
    }
  }));
});
