/**
 * Stand-in for `@std/crypto/timing-safe-equal`.
 *
 * Invariant: the time taken depends on the length alone.
 *
 * @module
 */
/** True where both hold the same bytes; the time taken depends on the length alone. Throws a TypeError on different lengths. */
export function timingSafeEqual(
  a: ArrayBufferView | ArrayBufferLike,
  b: ArrayBufferView | ArrayBufferLike,
): boolean {
  if (a.byteLength !== b.byteLength) {
    throw new TypeError(
      `Byte lengths differ: ${a.byteLength} and ${b.byteLength}`,
    );
  }
  const x = view(a);
  const y = view(b);
  let difference = 0;
  for (let i = 0; i < x.byteLength; i++) difference |= x[i] ^ y[i];
  return difference === 0;
}

function view(data: ArrayBufferView | ArrayBufferLike): Uint8Array {
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
