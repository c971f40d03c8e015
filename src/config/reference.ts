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
import { TENANT_FIELDS } from "./tenants.ts";

/** One key as documentation shows it. */
export interface ConfigRow {
  readonly key: string;
  /** The default as one would write it. */
  readonly initial: string;
  readonly doc: string;
}

/** One row a key, those of entries right after their list or mapping. */
export function configRows(): readonly ConfigRow[] {
  return Object.values(FIELDS).flatMap((field) => {
    switch (field.path) {
      case FIELDS.endpoints.path:
        return [row(field), ...rowsWithin("endpoints[]", ENDPOINT_FIELDS)];
      case FIELDS.tenants.path:
        return [row(field), ...rowsWithin("tenants.NAME", TENANT_FIELDS)];
      default:
        return [row(field)];
    }
  });
}

function rowsWithin(
  entry: string,
  fields: Readonly<Record<string, Field<unknown>>>,
): ConfigRow[] {
  return Object.values(fields).map((field) => ({
    ...row(field),
    key: `${entry}.${field.path}`,
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
