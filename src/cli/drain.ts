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
import { ADMIN_FLAG, type AdminClient, withAdmin } from "./admin_client.ts";
import { type Command, EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";
import {
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
  flags: [ADMIN_FLAG, WAIT_FLAG],
  run(args, edge) {
    const id = args.operand;
    const wait = args.values.get(WAIT_FLAG.name)?.[0];
    if (wait === undefined) {
      return withAdmin(args, edge, async (client) => {
        const row = await changeEndpoint("drain", id, { client, edge });
        if (typeof row === "number") return row;
        edge.out(`Endpoint "${id}" drains: ${inFlightText(row)}`);
        return EXIT.ok;
      });
    }
    const waitMs = settingOf(WAIT_FLAG, { args, edge }, {
      read: parseDurationMs,
      initial: wait,
    });
    if (waitMs === undefined) return Promise.resolve(EXIT.refused);
    return withAdmin(args, edge, async (client) => {
      const row = await changeEndpoint("drain", id, { client, edge });
      if (typeof row === "number") return row;
      const problem = await untilDrained(row, waitMs, client);
      if (problem === undefined) edge.out(`Endpoint "${id}" is drained`);
      else tell(problem, { id, wait, edge });
      return problem === undefined ? EXIT.ok : EXIT.failed;
    });
  },
};

/** Resolves to what is in the way, when there is no more time. */
async function untilDrained(
  first: EndpointRow,
  waitMs: number,
  client: AdminClient,
): Promise<string | undefined> {
  const deadlineMs = systemClock.nowMs() + waitMs;
  const { id } = first;
  let row: EndpointRow | undefined = first;
  for (;;) {
    if (row === undefined) return "it is not listed any more";
    if (row["state"] !== "draining") return `it is ${row["state"]} again`;
    if (row["in_flight"] === 0) return undefined;
    const leftMs = deadlineMs - systemClock.nowMs();
    if (leftMs <= 0) return inFlightText(row);
    await new Promise<void>((resolve) =>
      systemClock.after(Math.min(LOOK_MS, leftMs), resolve)
    );
    row = (await listEndpoints(client)).find((other) => other["id"] === id);
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
