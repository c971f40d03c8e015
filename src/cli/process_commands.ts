/**
 * `tryst reload`, `tryst snapshot` and `tryst log-level`: what a running
 * gateway is told as a whole.
 *
 * Invariant: exit code 0 means that the gateway has done it.
 *
 * @module
 */
import { JSON_FLAG, type Row, rowOf } from "./admin_answer.ts";
import { ADMIN_FLAGS, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";

/** Reads the configuration again. */
export const reloadCommand: Command = commandOf({
  name: "reload",
  summary: "Have a running gateway read its configuration again",
  path: "/reload",
  body: () => ({}),
  text: reloadText,
});

/** Saves the sessions. */
export const snapshotCommand: Command = commandOf({
  name: "snapshot",
  summary: "Have a running gateway save its sessions now",
  path: "/snapshot",
  body: () => ({}),
  text: (row) =>
    row["new"] === true
      ? `Saved ${row["sessions"]} sessions in ${row["bytes"]} bytes`
      : `Nothing has changed since ${row["sessions"]} sessions were saved`,
});

/** Sets how much is logged. */
export const logLevelCommand: Command = commandOf({
  name: "log-level",
  summary: "Set how much a running gateway logs",
  operand: "debug|info|warn|error",
  path: "/log/level",
  body: (level) => ({ level }),
  text: (row) => `The log level is ${row["level"]}`,
});

/** A command that is one request. */
interface OneRequest {
  readonly name: string;
  readonly summary: string;
  readonly operand?: string;
  readonly path: string;
  readonly body: (operand: string) => unknown;
  /** What was answered, for people. */
  readonly text: (row: Row) => string;
}

function commandOf(request: OneRequest): Command {
  const { body, name, operand, path, summary, text } = request;
  return {
    name,
    summary,
    ...(operand === undefined ? {} : { operand }),
    flags: [...ADMIN_FLAGS, JSON_FLAG],
    run: (args, edge) =>
      withAdmin(args, edge, async (client) => {
        const answer = await client.post(path, body(args.operand));
        const row = rowOf(answer, { action: name, edge });
        if (typeof row === "number") return row;
        const isJson = args.values.has(JSON_FLAG.name);
        edge.out(isJson ? JSON.stringify(row, null, 2) : text(row));
        return EXIT.ok;
      }),
  };
}

function reloadText(row: Row): string {
  const lines = (name: string, head: string): string[] => {
    const value = row[name];
    return Array.isArray(value) && value.length > 0
      ? [head, ...value.map((line) => `  ${line}`)]
      : [];
  };
  return [
    row["outcome"] === "unchanged"
      ? "Nothing has changed"
      : "The configuration is reloaded",
    ...lines("changes", "Changed:"),
    ...lines("needs_restart", "Takes effect at the next start:"),
  ].join("\n");
}
