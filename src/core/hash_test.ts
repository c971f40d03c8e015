/** Tests of the hash: frozen results, spread, and independent lanes. @module */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import { test } from "../../tests/leakproof.ts";
import { finalize32, hashBytes, shortHash } from "./hash.ts";

const ENCODER = new TextEncoder();

/** Results that MUST NOT change: snapshots and other gateways rest on them. */
const GOLDEN: readonly [value: string, seed: number, a: number, b: number][] = [
  ["", 0, 167010153, -1378916746],
  ["a", 0, -1103114681, 1538804938],
  ["ab", 0, -471006465, -727913183],
  ["abc", 0, -1844406533, -1443574945],
  ["abcd", 0, -1808945110, 1549632397],
  ["abcde", 0, -1944685317, -1233598732],
  ["a\u0000", 0, -515287154, 1856921409],
  ["session-1", 0, -1878511035, -1056827846],
  ["session-2", 0, 1932937033, -2018998112],
  ["0f2c5a0e-5c1b-4d5c-9f1c-6b5d1f2e3a4b", 0, 1638051423, -115128622],
  ["http://127.0.0.1:8000", 0, 1567025668, -1068429766],
  ["http://127.0.0.1:8001", 0, -1952756039, -1340189363],
  ["日本", 0, -1393535607, -1379200179],
  ["session-1", 1, -1821409460, -32136890],
  ["session-1", -1, -253187569, -18114047],
];

test("hashBytes() gives the recorded results", () => {
  for (const [value, seed, a, b] of GOLDEN) {
    assertEquals(hashBytes(ENCODER.encode(value), seed), { a, b }, value);
  }
});

test("hashBytes() tells ids apart that differ in the last digit", () => {
  for (let digit = 1; digit < 10; digit++) {
    const one = hashBytes(ENCODER.encode("http://127.0.0.1:8000"));
    const other = hashBytes(ENCODER.encode(`http://127.0.0.1:800${digit}`));
    for (const bits of [one.a ^ other.a, one.b ^ other.b]) {
      // Of 32 fair bits fewer than 4 or more than 28 differ once in 10^5.
      assert(bitCount(bits) >= 4 && bitCount(bits) <= 28, `digit ${digit}`);
    }
  }
});

test("hashBytes() flips every output bit for half of the flips of input", () => {
  const trials = 2000;
  const flips = new Float64Array(64);
  const bytes = new Uint8Array(20);
  for (let trial = 0; trial < trials; trial++) {
    for (let i = 0; i < bytes.length; i++) {
      bytes[i] = finalize32(trial * 64 + i);
    }
    const before = hashBytes(bytes);
    const at = trial % bytes.length;
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (finalize32(trial) & 7));
    const after = hashBytes(bytes);
    for (let bit = 0; bit < 32; bit++) {
      flips[bit] = (flips[bit] ?? 0) + (((before.a ^ after.a) >>> bit) & 1);
      const b = ((before.b ^ after.b) >>> bit) & 1;
      flips[32 + bit] = (flips[32 + bit] ?? 0) + b;
    }
  }
  for (const count of flips) {
    // Five standard deviations of 2,000 fair coins are 5.6 %.
    assert(Math.abs(count / trials - 0.5) < 0.056, `share ${count / trials}`);
  }
});

test("hashBytes() has no collision in 200,000 counted ids", () => {
  const seen = new Set<string>();
  const lanes = [new Set<number>(), new Set<number>()] as const;
  for (let i = 0; i < 200_000; i++) {
    const { a, b } = hashBytes(ENCODER.encode(`session-${i}`));
    seen.add(`${a},${b}`);
    lanes[0].add(a);
    lanes[1].add(b);
  }
  assertEquals(seen.size, 200_000);
  // A fair 32-bit lane has 4.7 collisions among so many; 20 come to no one.
  for (const lane of lanes) assert(lane.size > 200_000 - 20, `${lane.size}`);
});

test("hashBytes() has lanes that do not follow each other", () => {
  let agreeing = 0;
  const trials = 4000;
  for (let i = 0; i < trials; i++) {
    const { a, b } = hashBytes(ENCODER.encode(`endpoint-${i}`));
    agreeing += 32 - bitCount(a ^ b);
  }
  assert(Math.abs(agreeing / (32 * trials) - 0.5) < 0.01);
});

test("hashBytes() depends on bytes, length and seed alone", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.integer(),
      (bytes, seed) => {
        const shifted = new Uint8Array(bytes.length + 3);
        shifted.set(bytes, 3);
        assertEquals(
          hashBytes(shifted.subarray(3), seed),
          hashBytes(bytes, seed),
        );
        const longer = Uint8Array.from([...bytes, 0]);
        assertNotEquals(hashBytes(longer, seed), hashBytes(bytes, seed));
        assertNotEquals(hashBytes(bytes, seed ^ 1), hashBytes(bytes, seed));
      },
    ),
  );
});

test("shortHash() shows eight digits, leading zeros too", () => {
  assertEquals(shortHash({ a: 0x00ab, b: 7 }), "000000ab");
  assertEquals(shortHash({ a: -1, b: 7 }), "ffffffff");
});

function bitCount(word: number): number {
  let count = 0;
  for (let rest = word >>> 0; rest !== 0; rest >>>= 1) count += rest & 1;
  return count;
}
