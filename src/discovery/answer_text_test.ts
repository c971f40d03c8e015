/**
 * Bodies as text: whole and in pieces, up to the bound and beyond.
 *
 * @module
 */
import { assertEquals, assertRejects } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import type { BodySource } from "../core/body.ts";
import { readText } from "./answer_text.ts";

/** A body in pieces, which tells whether it was canceled. */
class Pieces implements BodySource {
  readonly length = undefined;
  isCanceled = false;
  readonly #pieces: (Uint8Array | Error)[];

  constructor(...pieces: (Uint8Array | Error)[]) {
    this.#pieces = pieces;
  }

  read(): Promise<Uint8Array | undefined> {
    const next = this.#pieces.shift();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  }

  cancel(): void {
    this.isCanceled = true;
  }
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

test("readText() reads up to the bound and breaks off beyond", async () => {
  const rows: [text: string, expected: string | undefined][] = [
    ["abcdef", undefined],
    ["abcde", undefined],
    ["abcd", "abcd"],
    ["abc", "abc"],
    ["", ""],
  ];
  for (const [text, expected] of rows) {
    assertEquals(await readText(bytes(text), 4), expected, text);
    const pieces = new Pieces(...[...text].map(bytes));
    assertEquals(await readText(pieces, 4), expected, text);
    assertEquals(pieces.isCanceled, expected === undefined, text);
  }
  assertEquals(await readText(undefined, 4), "");
});

test("readText() reads letters that pieces cut, and bytes that are none", async () => {
  const [first, second] = bytes("é");
  const pieces = new Pieces(
    Uint8Array.of(first ?? 0),
    Uint8Array.of(second ?? 0, 0xff),
    Uint8Array.of(first ?? 0),
  );
  assertEquals(await readText(pieces, 9), "é\ufffd\ufffd");
});

test("readText() rejects when the body breaks off", async () => {
  const pieces = new Pieces(bytes("a"), new Error("gone"));
  await assertRejects(() => readText(pieces, 9), Error, "gone");
});
