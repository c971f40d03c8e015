/**
 * The body of an engine's answer as text, for those who ask engines about
 * themselves.
 *
 * Invariant: no more than the bound is held, and an answer that is larger is
 * broken off.
 *
 * @module
 */
import type { UpstreamResponse } from "../upstream/client.ts";

/**
 * Reads a body to its end. Bytes that are no UTF-8 become U+FFFD.
 *
 * @returns `undefined` when it is larger than `bytesMax`; empty for none.
 * @throws {UpstreamError} when the body breaks off.
 */
export async function readText(
  body: UpstreamResponse["body"],
  bytesMax: number,
): Promise<string | undefined> {
  if (body === undefined) return "";
  const decoder = new TextDecoder();
  if (body instanceof Uint8Array) {
    return body.length > bytesMax ? undefined : decoder.decode(body);
  }
  let text = "";
  let byteCount = 0;
  for (;;) {
    const chunk = await body.read();
    if (chunk === undefined) return text + decoder.decode();
    byteCount += chunk.length;
    if (byteCount > bytesMax) {
      body.cancel();
      return undefined;
    }
    text += decoder.decode(chunk, { stream: true });
  }
}
