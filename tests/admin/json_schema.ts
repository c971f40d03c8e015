/**
 * Whether a value is as a JSON Schema (2020-12) says, for the words that the
 * description of the admin API uses.
 *
 * Invariant: a word that is not known here is an error, so that no part of a
 * schema goes unchecked.
 *
 * @module
 */

type Check = (wanted: unknown, value: unknown, path: string) => string[];

const CHECKS: Readonly<Record<string, Check>> = {
  type: (wanted, value, path) =>
    list(wanted).some((type) => isOfType(value, type))
      ? []
      : [`${path} must be ${list(wanted).join(" or ")}`],
  enum: (wanted, value, path) =>
    list(wanted).includes(value) ? [] : [`${path} must be one of ${wanted}`],
  const: (wanted, value, path) =>
    value === wanted ? [] : [`${path} must be ${wanted}`],
  minimum: (wanted, value, path) =>
    typeof value === "number" && value < Number(wanted)
      ? [`${path} must be ${wanted} or more`]
      : [],
  maximum: (wanted, value, path) =>
    typeof value === "number" && value > Number(wanted)
      ? [`${path} must be ${wanted} or less`]
      : [],
  minLength: (wanted, value, path) =>
    typeof value === "string" && value.length < Number(wanted)
      ? [`${path} must be longer`]
      : [],
  maxItems: (wanted, value, path) =>
    Array.isArray(value) && value.length > Number(wanted)
      ? [`${path} must have ${wanted} items at most`]
      : [],
  pattern: (wanted, value, path) =>
    typeof value === "string" && !new RegExp(String(wanted), "u").test(value)
      ? [`${path} must match ${wanted}`]
      : [],
  required: (wanted, value, path) =>
    list(wanted)
      .filter((name) => !Object.hasOwn(entriesOf(value), String(name)))
      .map((name) => `${path}.${name} must be there`),
  properties: (wanted, value, path) =>
    Object.entries(entriesOf(wanted)).flatMap(([name, schema]) => {
      const inner = entriesOf(value)[name];
      return inner === undefined
        ? []
        : schemaComplaints(schema, inner, `${path}.${name}`);
    }),
  additionalProperties: () => [],
  items: (wanted, value, path) =>
    Array.isArray(value)
      ? value.flatMap((item, index) =>
        schemaComplaints(wanted, item, `${path}[${index}]`)
      )
      : [],
  anyOf: (wanted, value, path) =>
    list(wanted).some((schema) => schemaComplaints(schema, value).length === 0)
      ? []
      : [`${path} must be one of several things`],
  description: () => [],
  default: () => [],
};

/** What is wrong with `value`; nothing when it is as `schema` says. */
export function schemaComplaints(
  schema: unknown,
  value: unknown,
  path = "$",
): string[] {
  const words = entriesOf(schema);
  const complaints = Object.entries(words).flatMap(([word, wanted]) => {
    const check = CHECKS[word];
    return check === undefined
      ? [`${path}: cannot check "${word}"`]
      : check(wanted, value, path);
  });
  if (words["additionalProperties"] !== false) return complaints;
  const known = entriesOf(words["properties"]);
  const unknown = Object.keys(entriesOf(value))
    .filter((name) => !Object.hasOwn(known, name));
  return [
    ...complaints,
    ...unknown.map((name) => `${path}.${name} must not be there`),
  ];
}

/** The members of an object; of anything else none. */
export function entriesOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function isOfType(value: unknown, type: unknown): boolean {
  const isArray = Array.isArray(value);
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return isArray;
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "object":
      return typeof value === "object" && value !== null && !isArray;
    default:
      return false;
  }
}
