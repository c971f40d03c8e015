/**
 * The configuration in tables, for `--help` and the README.
 *
 * Invariant: every row comes from the field table; nothing is written twice.
 *
 * @module
 */
import { ENDPOINT_FIELDS } from "./endpoints.ts";
import type { Field } from "./field.ts";
import { FIELDS } from "./fields.ts";

/** One key as documentation shows it. */
export interface ConfigRow {
  readonly key: string;
  /** The default as one would write it. */
  readonly initial: string;
  readonly doc: string;
}

/** One row a key, entries of `endpoints` right after it. */
export function configRows(): readonly ConfigRow[] {
  return Object.values(FIELDS).flatMap((field) =>
    field.path === FIELDS.endpoints.path
      ? [row(field), ...endpointRows()]
      : [row(field)]
  );
}

function endpointRows(): ConfigRow[] {
  return Object.values(ENDPOINT_FIELDS).map((field) => ({
    ...row(field),
    key: `${FIELDS.endpoints.path}[].${field.path}`,
  }));
}

function row({ path, initial, doc }: Omit<Field<unknown>, "read">): ConfigRow {
  const text = Array.isArray(initial)
    ? `[${initial.join(", ")}]`
    : typeof initial === "object"
    ? JSON.stringify(initial)
    : String(initial);
  return { key: path, initial: text, doc };
}
