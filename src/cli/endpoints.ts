/**
 * `tryst endpoints`: what the endpoints of a running gateway are doing.
 *
 * Invariant: with `--json` the output is what the admin API answers, complete;
 * the table is for people and may change.
 *
 * @module
 */
import { JSON_FLAG } from "./admin_answer.ts";
import { ADMIN_FLAGS, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import { type EndpointRow, listEndpoints } from "./endpoint_answer.ts";
import { columns } from "./help.ts";

/** The columns: head, and the value of a row. */
const COLUMNS: readonly (readonly [string, (row: EndpointRow) => string])[] = [
  ["ENDPOINT", (row) => text(row["id"])],
  ["STATE", (row) => text(row["state"])],
  ["WEIGHT", (row) => text(row["weight"])],
  ["IN FLIGHT", (row) => text(row["in_flight"])],
  ["LIMIT", (row) => text(row["limit"])],
  ["SESSIONS", (row) => text(row["sessions"])],
  ["FAILURES", (row) => text(row["consecutive_failures"])],
  ["LAST ANSWER", (row) => ageText(row["last_answer_age_ms"])],
  ["MODELS", (row) => text(row["models"])],
];

/** The command. */
export const endpointsCommand: Command = {
  name: "endpoints",
  summary: "Show the endpoints of a running gateway",
  flags: [...ADMIN_FLAGS, JSON_FLAG],
  run(args, edge) {
    return withAdmin(args, edge, async (client) => {
      const rows = await listEndpoints({ client, edge });
      if (typeof rows === "number") return rows;
      const isJson = args.values.has(JSON_FLAG.name);
      edge.out(
        isJson
          ? JSON.stringify({ endpoints: rows }, null, 2)
          : endpointTable(rows),
      );
      return EXIT.ok;
    });
  },
};

/** A line for the heads and one for each endpoint. */
export function endpointTable(rows: readonly EndpointRow[]): string {
  const lines = columns([
    COLUMNS.map(([head]) => head),
    ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row))),
  ]);
  return lines.map((line) => line.trim()).join("\n");
}

function text(value: unknown): string {
  return value === null || value === undefined ? "-" : String(value);
}

function ageText(ms: unknown): string {
  return typeof ms === "number" ? `${Math.round(ms / 1_000)}s ago` : "-";
}
