/**
 * How the body of a request that changes or asks something is read.
 *
 * Invariant: a body is read to its bound and no longer than a limit, and
 * nothing of it is used unless all of it is JSON that was sent as JSON: a page
 * of another origin cannot send that without asking first, and the admin
 * listener grants nothing.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Problem } from "./problem.ts";

/** Bodies name an endpoint or a session: 64 KiB is far more than any needs. */
export const BODY_BYTES_MAX = 65_536;

/** Milliseconds in which a body must have come; it is one packet. */
const BODY_MS_MAX = 5_000;

/**
 * Reads the JSON of a request.
 *
 * @throws {Problem} when it cannot be read.
 */
export async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Problem(
      STATUS_CODE.UnsupportedMediaType,
      `Cannot take a body of content type "${type}": use application/json`,
    );
  }
  const bytes = await readBody(request);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new Problem(STATUS_CODE.BadRequest, "Cannot parse the body as JSON");
  }
}

async function readBody(request: Request): Promise<Uint8Array> {
  const bytes = new Uint8Array(BODY_BYTES_MAX);
  const reader = request.body?.getReader();
  if (reader === undefined) return bytes.subarray(0, 0);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // Ends the read that is waited for.
    reader.cancel().catch(() => {});
  }, BODY_MS_MAX);
  let length = 0;
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      if (length + value.length > bytes.length) {
        reader.cancel().catch(() => {});
        throw new Problem(
          STATUS_CODE.ContentTooLarge,
          `Cannot take a body of more than ${BODY_BYTES_MAX} bytes`,
        );
      }
      bytes.set(value, length);
      length += value.length;
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(STATUS_CODE.BadRequest, "Cannot read the body");
  } finally {
    clearTimeout(timer);
  }
  if (isLate) {
    throw new Problem(
      STATUS_CODE.RequestTimeout,
      `Cannot wait longer than ${BODY_MS_MAX} ms for the body`,
    );
  }
  return bytes.subarray(0, length);
}
