/**
 * Requests that change something: who may send one, and how it is read.
 *
 * The admin address has no password on loopback, so a page in a browser on the
 * same machine must not get through. A page of another origin cannot send JSON
 * without asking first, and the admin listener grants nothing. A page whose
 * name was made to point at this machine (DNS rebinding) counts as the same
 * origin, but its browser sends that name in `Host`.
 *
 * Invariant: nothing of a body is used before `Host` and content type have
 * been looked at, and a body is read to its bound and no longer than a limit.
 *
 * @module
 */
import { STATUS_CODE } from "@std/http/status";
import { Problem } from "./problem.ts";

/** Bodies name one endpoint: 64 KiB is far more than any id needs. */
const BODY_BYTES_MAX = 65_536;

/** Milliseconds in which a body must have come; it is one packet. */
const BODY_MS_MAX = 5_000;

/** Addresses that stand for all of a machine's. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

/** IPv4 as four numbers; anything with a colon is IPv6 once the port is off. */
const IP_ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f:.]*:[0-9a-f:.]*)$/i;

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/i;

/**
 * Reads the JSON of a request that changes something.
 *
 * @param hostname What the listener was told to listen on.
 * @throws {Problem} when it may not be sent or cannot be read.
 */
export async function readChange(
  request: Request,
  hostname: string,
): Promise<unknown> {
  const host = request.headers.get("host") ?? "";
  if (!isOwnHost(host, hostname)) {
    throw new Problem(
      STATUS_CODE.MisdirectedRequest,
      `Cannot take a change sent to the host "${host}": ` +
        "use an address of the admin listener, or localhost",
    );
  }
  const type = request.headers.get("content-type") ?? "";
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new Problem(
      STATUS_CODE.UnsupportedMediaType,
      `Cannot take a change of content type "${type}": use application/json`,
    );
  }
  const text = new TextDecoder().decode(await readBody(request));
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(STATUS_CODE.BadRequest, "Cannot parse the body as JSON");
  }
}

/** Whether a `Host` (RFC 9110, 7.2) names the listener by its address. */
export function isOwnHost(host: string, hostname: string): boolean {
  const match = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host);
  const name = match?.[1] ?? match?.[2] ?? "";
  if (LOOPBACK.test(name)) return true;
  // A name is what rebinding needs; an address cannot be made to point here.
  if (WILDCARDS.has(hostname)) return IP_ADDRESS.test(name);
  return name !== "" && name.toLowerCase() === hostname.toLowerCase();
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
