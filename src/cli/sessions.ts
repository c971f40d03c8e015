/**
 * `tryst sessions`: which sessions are bound to what. `tryst session`: what is
 * known of one, and where to pin or forget it.
 *
 * Invariant: a key goes into the body of a request, never into a URL, and is
 * never printed; from standard input it is on no command line either.
 *
 * @module
 */
import { isRow, JSON_FLAG, type Row, rowOf } from "./admin_answer.ts";
import { ADMIN_FLAGS, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { columns } from "./help.ts";

/** Longest key read from standard input; the admin API takes no more. */
const KEY_BYTES_MAX = 65_536;

/** What stands for standard input. */
const STDIN = "-";

/** What ends a key there. */
const LINE_FEED = 0x0a;

const ENDPOINT_FLAG = flag("--endpoint", "ID", "Only those bound to it");
const LIMIT_FLAG = flag("--limit", "N", "Most sessions shown, 100 by default");
const MODEL_FLAG = flag("--model", "NAME", "Of requests to this model only");
const TENANT_FLAG = flag(
  "--tenant",
  "NAME",
  "Whose session it is, where clients need an API key",
);
const PIN_FLAG = flag("--pin", "ID", "Bind the session to this endpoint");
const FORGET_FLAG = flag("--forget", undefined, "Forget the session");

/** The columns: head, and the value of a row. */
const COLUMNS: readonly (readonly [string, (row: Row) => string])[] = [
  ["ENDPOINT", (row) => text(row["endpoint"])],
  ["LAST USE", (row) => ageText(row["last_use_age_ms"])],
  ["TURNS", (row) => text(row["turns"])],
  ["IN FLIGHT", (row) => text(row["in_flight"])],
  ["ATTAINED", (row) => secondsText(row["attained_ms"])],
  ["CRITICAL PATH", (row) => secondsText(row["critical_path_ms"])],
  ["WAITED", (row) => secondsText(row["waited_ms"])],
];

/** The list. */
export const sessionsCommand: Command = {
  name: "sessions",
  summary: "Show the sessions of a running gateway, the last used first",
  flags: [...ADMIN_FLAGS, ENDPOINT_FLAG, LIMIT_FLAG, JSON_FLAG],
  run(args, edge) {
    const query = new URLSearchParams();
    for (const { name } of [ENDPOINT_FLAG, LIMIT_FLAG]) {
      const value = args.values.get(name)?.[0];
      if (value !== undefined) query.set(name.slice(2), value);
    }
    const target = query.size === 0 ? "/sessions" : `/sessions?${query}`;
    return withAdmin(args, edge, async (client) => {
      const action = "read the sessions";
      const row = rowOf(await client.get(target), { action, edge });
      if (typeof row === "number") return row;
      const isJson = args.values.has(JSON_FLAG.name);
      edge.out(isJson ? JSON.stringify(row, null, 2) : listText(row));
      return EXIT.ok;
    });
  },
};

/** One session. */
export const sessionCommand: Command = {
  name: "session",
  summary: "Find a session by its key, or - to read it from standard input",
  operand: "KEY",
  flags: [
    ...[...ADMIN_FLAGS, MODEL_FLAG, TENANT_FLAG],
    ...[PIN_FLAG, FORGET_FLAG, JSON_FLAG],
  ],
  async run(args, edge) {
    const endpoint = args.values.get(PIN_FLAG.name)?.[0];
    const isForget = args.values.has(FORGET_FLAG.name);
    if (isForget && endpoint !== undefined) {
      edge.err("Cannot pin a session and forget it: use one of the two");
      return EXIT.refused;
    }
    const key = args.operand === STDIN ? await readKey(edge) : args.operand;
    if (key === undefined) return EXIT.refused;
    const model = args.values.get(MODEL_FLAG.name)?.[0];
    const tenant = args.values.get(TENANT_FLAG.name)?.[0];
    const action = isForget
      ? "forget"
      : endpoint === undefined
      ? "find"
      : "pin";
    return withAdmin(args, edge, async (client) => {
      // What is not given is left out of JSON.
      const body = { key, model, tenant, endpoint };
      const answer = await client.post(`/sessions/${action}`, body);
      const row = rowOf(answer, { action: `${action} the session`, edge });
      if (typeof row === "number") return row;
      const isJson = args.values.has(JSON_FLAG.name);
      edge.out(
        isJson
          ? JSON.stringify(row, null, 2)
          : isForget
          ? forgottenText(row)
          : foundText(row),
      );
      return EXIT.ok;
    });
  },
};

function flag(name: string, value: string | undefined, doc: string): Flag {
  return { name, value, env: undefined, isList: false, doc };
}

/**
 * Reads a line, or all there is, for as long as whoever writes it takes; tells
 * what is wrong with it.
 */
async function readKey(edge: Edge): Promise<string | undefined> {
  const buffer = new Uint8Array(KEY_BYTES_MAX);
  let length = 0;
  while (length < buffer.length) {
    const count = await Deno.stdin.read(buffer.subarray(length));
    if (count === null) break;
    length += count;
    if (buffer.subarray(length - count, length).includes(LINE_FEED)) break;
  }
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    const [line = ""] = decoder.decode(buffer.subarray(0, length))
      .split(/\r?\n/, 1);
    return line;
  } catch {
    edge.err("Cannot read the key from standard input: it must be UTF-8");
    return undefined;
  }
}

function listText(row: Row): string {
  const sessions = rowsOf(row["sessions"]);
  const lines = table(sessions, [
    ["RECORD", (session) => text(session["record"])],
  ]);
  const total = Number(row["total"]);
  return total > sessions.length
    ? [...lines, `${total - sessions.length} more`].join("\n")
    : lines.join("\n");
}

function foundText(row: Row): string {
  const pools = table(rowsOf(row["pools"]), [
    ["POOL", (pool) => text(pool["pool"])],
  ]);
  return [`Session ${text(row["session"])}`, ...pools].join("\n");
}

function forgottenText(row: Row): string {
  return Number(row["forgotten"]) > 0
    ? "The session is forgotten"
    : "There was no such session";
}

function table(rows: readonly Row[], first: typeof COLUMNS): string[] {
  const all = [...first, ...COLUMNS];
  return columns([
    all.map(([head]) => head),
    ...rows.map((row) => all.map(([, cell]) => cell(row))),
  ]).map((line) => line.trim());
}

function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.filter(isRow) : [];
}

function text(value: unknown): string {
  return value === null || value === undefined ? "-" : String(value);
}

function ageText(ms: unknown): string {
  return typeof ms === "number" ? `${Math.round(ms / 1_000)}s ago` : "-";
}

function secondsText(ms: unknown): string {
  return typeof ms === "number" ? `${(ms / 1_000).toFixed(1)}s` : "-";
}
