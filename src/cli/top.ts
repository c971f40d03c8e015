/**
 * `tryst top`: what a gateway is doing, now.
 *
 * On a terminal it is a picture that is drawn again and again and takes keys.
 * Everywhere else it is plain lines, so that it can be piped, kept and read
 * by a screen reader.
 *
 * Invariant: with `--json` the output is what the admin API answers, complete;
 * everything else is for people and may change.
 *
 * @module
 */
import { Refusal } from "../config/complaint.ts";
import { parseDurationMs } from "../config/quantity.ts";
import { systemClock } from "../system/clock.ts";
import { JSON_FLAG } from "./admin_answer.ts";
import { ADMIN_FLAGS, type AdminClient, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";
import { settingOf } from "./setting.ts";
import { headLines } from "./top/top_frame.ts";
import { canUseScreen, runScreen } from "./top/top_screen.ts";
import { readStatus, type StatusAnswer, TopError } from "./top/top_source.ts";
import { FIRST_STATE } from "./top/top_state.ts";
import { topTable } from "./top/top_table.ts";

/** Looking more often would be work for a gateway that has other work. */
const INTERVAL_MS_MIN = 100;

const INTERVAL_INITIAL = "1s";

/** Wide enough for every column. */
const LINES_WIDTH = 400;

const INTERVAL_FLAG: Flag = {
  name: "--interval",
  value: "DURATION",
  env: undefined,
  isList: false,
  doc: `Time between two looks, ${INTERVAL_INITIAL} by default`,
};

const ONCE_FLAG: Flag = {
  name: "--once",
  value: undefined,
  env: undefined,
  isList: false,
  doc: "Look once, print lines and end; there are no rates then",
};

const LINES_FLAG: Flag = {
  name: "--lines",
  value: undefined,
  env: undefined,
  isList: false,
  doc: "Print lines, as is done where there is no terminal",
};

/** The command. */
export const topCommand: Command = {
  name: "top",
  summary: "Watch a running gateway",
  flags: [...ADMIN_FLAGS, INTERVAL_FLAG, ONCE_FLAG, LINES_FLAG, JSON_FLAG],
  run(args, edge) {
    const intervalMs = settingOf(INTERVAL_FLAG, { args, edge }, {
      read: parseInterval,
      initial: INTERVAL_INITIAL,
    });
    if (intervalMs === undefined) return Promise.resolve(EXIT.refused);
    const has = ({ name }: Flag) => args.values.has(name);
    return withAdmin(args, edge, async (client) => {
      try {
        const first = await readStatus(client, edge);
        if (has(JSON_FLAG)) {
          edge.out(JSON.stringify(first.row, null, 2));
          return EXIT.ok;
        }
        const printing = { client, edge, first, intervalMs };
        if (has(ONCE_FLAG)) edge.out(statusLines(first).join("\n"));
        else if (has(LINES_FLAG) || !canUseScreen()) await printOn(printing);
        else {
          const source = { client, edge };
          return await runScreen({ first, intervalMs, source });
        }
        return EXIT.ok;
      } catch (error) {
        if (!(error instanceof TopError)) throw error;
        edge.err(error.message);
        return error.exitCode;
      }
    });
  },
};

/** @throws {Refusal} */
function parseInterval(text: string): number {
  const ms = parseDurationMs(text);
  if (ms >= INTERVAL_MS_MIN) return ms;
  throw new Refusal(`must be ${INTERVAL_MS_MIN}ms or more`);
}

/** Prints until nobody reads it, the gateway is gone or the process ends. */
async function printOn({ client, edge, first, intervalMs }: {
  readonly client: AdminClient;
  readonly edge: Edge;
  readonly first: StatusAnswer;
  readonly intervalMs: number;
}): Promise<void> {
  let previous: StatusAnswer | undefined;
  let current = first;
  for (;;) {
    try {
      edge.out([...statusLines(current, previous), ""].join("\n"));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) return;
      throw error;
    }
    await new Promise<void>((resolve) =>
      systemClock.after(intervalMs, resolve)
    );
    previous = current;
    current = await readStatus(client, edge);
  }
}

/** The gateway in three lines, and a table of its endpoints. */
function statusLines(
  { status }: StatusAnswer,
  before?: StatusAnswer,
): string[] {
  const previous = before?.status;
  const { head, rows } = topTable(
    { status, previous, sort: FIRST_STATE.sort },
    LINES_WIDTH,
  );
  return [
    ...headLines({ status, previous }),
    head,
    ...rows.map(({ line }) => line),
  ];
}
