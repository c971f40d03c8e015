/**
 * Stand-in for the part of `@std/crypto/crypto` in common use: Web Crypto and digests that
 * do not wait.
 *
 * Invariant: an algorithm that is not served is refused by name.
 *
 * @module
 */
import { createHash } from "node:crypto";

type DigestInput = BufferSource;

const NODE_NAMES: Record<string, string> = {
  "MD5": "md5",
  "SHA-1": "sha1",
  "SHA-224": "sha224",
  "SHA-256": "sha256",
  "SHA-384": "sha384",
  "SHA-512": "sha512",
  "SHA3-224": "sha3-224",
  "SHA3-256": "sha3-256",
  "SHA3-384": "sha3-384",
  "SHA3-512": "sha3-512",
  "BLAKE2S": "blake2s256",
};

/** Names accepted by {@linkcode crypto.subtle.digest} and digestSync. */
export type DigestAlgorithmName = keyof typeof NODE_NAMES;

function bytes(data: DigestInput): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

function digestSync(
  algorithm: string | { name: string },
  data: DigestInput,
): ArrayBuffer {
  const name = typeof algorithm === "string" ? algorithm : algorithm.name;
  const node = NODE_NAMES[name];
  if (!node) throw new TypeError(`Unsupported algorithm: ${name}`);
  return new Uint8Array(createHash(node).update(bytes(data)).digest())
    .buffer as ArrayBuffer;
}

export interface StdSubtleCrypto extends SubtleCrypto {
  digestSync(
    algorithm: string | { name: string },
    data: DigestInput,
  ): ArrayBuffer;
}

export interface StdCrypto extends Crypto {
  readonly subtle: StdSubtleCrypto;
}

export const crypto: StdCrypto = new Proxy(globalThis.crypto, {
  get(target, key) {
    if (key === "subtle") {
      return new Proxy(target.subtle, {
        get(subtle, name) {
          if (name === "digestSync") return digestSync;
          const value = Reflect.get(subtle, name, subtle);
          return typeof value === "function" ? value.bind(subtle) : value;
        },
      });
    }
    const value = Reflect.get(target, key, target);
    return typeof value === "function" ? value.bind(target) : value;
  },
}) as StdCrypto;
