/**
 * The bytes of attempts, put together.
 *
 * Invariant: numbering a text changes no length in it.
 *
 * @module
 */
import { HIDDEN_TARGET, TARGET } from "./case.ts";

/** The head of a POST, with its blank line. */
export function postHead(...fields: readonly string[]): string {
  return headOf(`POST ${TARGET} HTTP/1.1`, "Host: gateway", ...fields);
}

/** A head of these lines, with its blank line. */
export function headOf(...lines: readonly string[]): string {
  return `${lines.join("\r\n")}\r\n\r\n`;
}

/** `text` with the targets of attempt `index`, of at most four digits. */
export function numbered(text: string, index: number): string {
  const digits = String(index).padStart(4, "0");
  const own = (target: string) => target.replace("0000", digits).slice(1);
  return text.replaceAll(TARGET.slice(1), own(TARGET))
    .replaceAll(HIDDEN_TARGET.slice(1), own(HIDDEN_TARGET));
}
