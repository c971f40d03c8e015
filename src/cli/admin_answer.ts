/**
 * What the admin API answers, as commands use and print it.
 *
 * Invariant: an answer of another version may lack a value or have more; what
 * is not there is shown as nothing, never as a zero.
 *
 * @module
 */
import type { AdminAnswer } from "./admin_client.ts";
import { EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { SECRET_VARIABLES } from "./service_variables.ts";

/** An object of the answer by the names of the API. */
export type Row = Readonly<Record<string, unknown>>;

/** The switch of every command that has something to print. */
export const JSON_FLAG: Flag = {
  name: "--json",
  value: undefined,
  env: undefined,
  isList: false,
  doc: "Print JSON, for programs",
};

/** Where a command takes the token from that the gateway wants. */
const TOKEN_HINT =
  `give it with --token-file or ${SECRET_VARIABLES.adminToken.name}`;

/** Whether something is an object of an answer. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null;
}

/**
 * The object that was answered, or the exit code of what went wrong, having
 * told it.
 *
 * @param action What was wanted; continues "Cannot ...".
 */
export function rowOf(
  answer: AdminAnswer,
  { action, edge }: { readonly action: string; readonly edge: Edge },
): Row | number {
  const { body, status } = answer;
  if (status === 200 && isRow(body)) return body;
  const detail = isRow(body) && typeof body["detail"] === "string"
    ? body["detail"]
    : "";
  const isTold = detail.startsWith("Cannot");
  const told = isTold
    ? detail
    : `Cannot ${action}: ${detail || `the admin address answered ${status}`}`;
  edge.err(status === 401 ? `${told}: ${TOKEN_HINT}` : told);
  // An admin side without this path is not the gateway that was meant.
  return status === 404 && isTold ? EXIT.refused : EXIT.failed;
}
