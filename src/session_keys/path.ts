/**
 * `path:TEMPLATE`: the session key is a segment of the path, for example
 * `path:/v1/threads/{id}/*`.
 *
 * Invariant: a segment of the template matches one whole segment of the path,
 * case-sensitively and percent-decoded; a last `*` matches whatever follows,
 * nothing included.
 *
 * @module
 */
import type { SessionKeyKind } from "../core/session_key_source.ts";
import { percentDecode } from "./percent.ts";

const ID = "{id}";
const REST = "*";
const ASCII = /^[\x21-\x7e]+$/;

/** Builds `path:` sources. */
export const pathKind: SessionKeyKind = {
  name: "path",
  summary: "path:/v1/threads/{id}/*, the segment of the path at {id}",
  parse(argument) {
    const complaint = complaintAbout(argument);
    if (complaint !== undefined) {
      throw new TypeError(
        `Cannot use "${argument}" as a path: wanted is ${complaint}`,
      );
    }
    const template = argument.split("/");
    const hasRest = template.at(-1) === REST;
    if (hasRest) template.pop();
    return {
      name: `path:${argument}`,
      kind: "head",
      find: (head) => matchedId(pathOf(head.target), template, hasRest),
    };
  },
};

/** What a template should be, or `undefined` when it is that. */
function complaintAbout(template: string): string | undefined {
  if (!template.startsWith("/")) return "one that starts with a slash";
  if (!ASCII.test(template) || /[?#]/.test(template)) {
    return "printable ASCII without blanks, query and fragment";
  }
  const segments = template.split("/");
  if (segments.filter((segment) => segment === ID).length !== 1) {
    return `exactly one segment ${ID}`;
  }
  const plain = segments.filter((segment) => segment !== ID);
  if (plain.at(-1) === REST && segments.at(-1) === REST) plain.pop();
  if (plain.some((segment) => /[{}*]/.test(segment))) {
    return `${ID} as a whole segment, and * only as the last one`;
  }
  return undefined;
}

/** The path of a target, which may be in absolute form (RFC 9112, 3.2.2). */
function pathOf(target: string): string {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  if (path.startsWith("/")) return path;
  const authority = path.indexOf("://");
  const slash = authority < 0 ? -1 : path.indexOf("/", authority + 3);
  return slash < 0 ? "" : path.slice(slash);
}

function matchedId(
  path: string,
  template: readonly string[],
  hasRest: boolean,
): Uint8Array | undefined {
  const segments = path.split("/");
  const isLongEnough = hasRest
    ? segments.length >= template.length
    : segments.length === template.length;
  if (!isLongEnough) return undefined;
  let id: Uint8Array | undefined;
  for (const [index, wanted] of template.entries()) {
    const segment = segments[index] ?? "";
    if (wanted === ID) {
      id = decoded(segment);
    } else if (segment !== wanted && !isSpelling(segment, wanted)) {
      return undefined;
    }
  }
  return id;
}

function decoded(segment: string): Uint8Array {
  return percentDecode(segment, { plusIsSpace: false });
}

/** Whether two segments that differ as sent are the same when decoded. */
function isSpelling(segment: string, wanted: string): boolean {
  if (!segment.includes("%") && !wanted.includes("%")) return false;
  const [a, b] = [decoded(segment), decoded(wanted)];
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
