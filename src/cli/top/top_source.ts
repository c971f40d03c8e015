/**
 * Where `tryst top` gets what it shows: the admin API of a gateway.
 *
 * Invariant: an answer that has not the shape of a status is an error that
 * says so, never a picture of nothing.
 *
 * @module
 */
import type { GatewayStatus } from "../../admin/status.ts";
import { isRow, type Row, rowOf } from "../admin_answer.ts";
import type { AdminClient } from "../admin_client.ts";
import type { Edge } from "../edge.ts";
import { changeEndpoint, inFlightText } from "../endpoint_answer.ts";
import type { TopChange } from "./top_state.ts";

/** The status as it was answered, and as a status. */
export interface StatusAnswer {
  readonly row: Row;
  readonly status: GatewayStatus;
}

/** What was asked for and cannot be had; its message is one sentence. */
export class TopError extends Error {
  /** What the process is to end with if nothing else helps. */
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Exit code of a status that cannot be read. */
const FAILED = 1;

/** Lists and groups of values; what is in them may be missing. */
const LISTS: readonly string[] = ["endpoints", "live", "failures"];
const GROUPS: readonly string[] = ["workers", "queue", "sessions", "traffic"];

/**
 * Reads the status.
 *
 * @throws {Error} when there is no gateway, or it does not tell.
 */
export async function readStatus(
  client: AdminClient,
  edge: Edge,
): Promise<StatusAnswer> {
  const answer = await client.get("/status");
  const row = toldBy(
    (quiet) => rowOf(answer, { action: "read the status", edge: quiet }),
    edge,
  );
  if (!isStatus(row)) {
    throw new TopError(
      "Cannot read the status: the admin address answered something else",
      FAILED,
    );
  }
  return { row, status: row as unknown as GatewayStatus };
}

/**
 * Changes an endpoint; resolves to what there is to say.
 *
 * @throws {Error} when it cannot be changed.
 */
export async function applyChange(
  { change, id }: TopChange,
  { client, edge }: { readonly client: AdminClient; readonly edge: Edge },
): Promise<string> {
  const told: string[] = [];
  const quiet = quietEdge(edge, told);
  const row = await changeEndpoint(change, id, { client, edge: quiet });
  if (typeof row === "number") throw new TopError(told.join(" "), row);
  return change === "drain"
    ? `Endpoint "${id}" drains: ${inFlightText(row)}`
    : `Endpoint "${id}" is restored`;
}

/** What was answered, or an error of what would have been told. */
function toldBy(
  read: (quiet: Edge) => Row | number,
  edge: Edge,
): Row {
  const told: string[] = [];
  const row = read(quietEdge(edge, told));
  if (typeof row === "number") throw new TopError(told.join(" "), row);
  return row;
}

/** Keeps messages off a screen that is drawn on. */
function quietEdge(edge: Edge, told: string[]): Edge {
  return { ...edge, err: (text) => void told.push(text) };
}

function isStatus(row: Row): boolean {
  const { traffic } = row;
  return LISTS.every((name) => {
    const list = row[name];
    return Array.isArray(list) && list.every(isRow);
  }) && GROUPS.every((name) => isRow(row[name])) && isRow(traffic) &&
    isRow(traffic["affinity"]) && isRow(traffic["outcomes"]);
}
