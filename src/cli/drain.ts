/**
 * `tryst drain`: takes an endpoint out of use without breaking a request.
 *
 * Invariant: with `--wait`, exit code 0 means that nothing is in flight on the
 * endpoint, and that it takes nothing new.
 *
 * @module
 */
import { parseDurationMs } from "../config/quantity.ts";
import { systemClock } from "../system/clock.ts";
import { JSON_FLAG } from "./admin_answer.ts";
import { ADMIN_FLAGS, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import {
  type Asking,
  changeEndpoint,
  type EndpointRow,
  inFlightText,
  listEndpoints,
} from "./endpoint_answer.ts";
import type { Flag } from "./flags.ts";
import { settingOf } from "./setting.ts";

/** Milliseconds between two looks at what is in flight. */
const LOOK_MS = 250;

const WAIT_FLAG: Flag = {
  name: "--wait",
  value: "DURATION",
  env: undefined,
  isList: false,
  doc: "Wait until its requests have finished, so long at most",
};

/** The command. */
export const drainCommand: Command = {
  name: "drain",
  summary: "Let an endpoint finish its requests and take no more",
  operand: "ENDPOINT",
  flags: [...ADMIN_FLAGS, WAIT_FLAG, JSON_FLAG],
  run(args, edge) {
    const id = args.operand;
    const isJson = args.values.has(JSON_FLAG.name);
    const wait = args.values.get(WAIT_FLAG.name)?.[0];
    if (wait === undefined) {
      return withAdmin(args, edge, async (client) => {
        const row = await changeEndpoint("drain", id, { client, edge });
        if (typeof row === "number") return row;
        const text = `Endpoint "${id}" drains: ${inFlightText(row)}`;
        edge.out(isJson ? JSON.stringify(row, null, 2) : text);
        return EXIT.ok;
      });
    }
    const waitMs = settingOf(WAIT_FLAG, { args, edge }, {
      read: parseDurationMs,
      initial: wait,
    });
    if (waitMs === undefined) return Promise.resolve(EXIT.refused);
    return withAdmin(args, edge, async (client) => {
      const first = await changeEndpoint("drain", id, { client, edge });
      if (typeof first === "number") return first;
      const end = await untilDrained(first, waitMs, { client, edge });
      if (typeof end === "number") return end;
      const { problem, row } = end;
      if (problem !== undefined) tell(problem, { id, wait, edge });
      if (isJson) edge.out(JSON.stringify(row, null, 2));
      else if (problem === undefined) edge.out(`Endpoint "${id}" is drained`);
      return problem === undefined ? EXIT.ok : EXIT.failed;
    });
  },
};

/** How waiting ended. */
interface End {
  /** The endpoint as it was last seen. */
  readonly row: EndpointRow;
  /** What is in the way; `undefined` when it is drained. */
  readonly problem: string | undefined;
}

/** Looks until it is drained or there is no more time, or fails. */
async function untilDrained(
  first: EndpointRow,
  waitMs: number,
  asking: Asking,
): Promise<End | number> {
  const deadlineMs = systemClock.nowMs() + waitMs;
  const id = first["id"];
  let row = first;
  for (;;) {
    if (row["state"] !== "draining") {
      return { row, problem: `it is ${row["state"]} again` };
    }
    if (row["in_flight"] === 0) return { row, problem: undefined };
    const leftMs = deadlineMs - systemClock.nowMs();
    if (leftMs <= 0) return { row, problem: inFlightText(row) };
    await new Promise<void>((resolve) =>
      systemClock.after(Math.min(LOOK_MS, leftMs), resolve)
    );
    const rows = await listEndpoints(asking);
    if (typeof rows === "number") return rows;
    const next = rows.find((other) => other["id"] === id);
    if (next === undefined) {
      return { row, problem: "it is not listed any more" };
    }
    row = next;
  }
}

function tell(
  problem: string,
  { id, wait, edge }: {
    readonly id: string;
    readonly wait: string;
    readonly edge: Edge;
  },
): void {
  edge.err(`Cannot drain endpoint "${id}" within ${wait}: ${problem}`);
}
