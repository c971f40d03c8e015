/**
 * What the admin API answers of endpoints, as commands use it.
 *
 * Invariant: a list that cannot be read is an error, never an empty list.
 *
 * @module
 */
import { isRow, type Row, rowOf } from "./admin_answer.ts";
import type { AdminClient } from "./admin_client.ts";
import type { Edge } from "./edge.ts";

/** An endpoint by the names of the API. */
export type EndpointRow = Row;

/** What a command asks with. */
export interface Asking {
  readonly client: AdminClient;
  readonly edge: Edge;
}

/**
 * The endpoints that the gateway has now, or the exit code of what went wrong,
 * having told it.
 */
export async function listEndpoints(
  { client, edge }: Asking,
): Promise<readonly EndpointRow[] | number> {
  const action = "read the endpoints";
  const answer = await client.get("/endpoints");
  const row = rowOf(answer, { action, edge });
  if (typeof row === "number") return row;
  const endpoints = row["endpoints"];
  if (Array.isArray(endpoints)) return endpoints.filter(isRow);
  throw new Error(`Cannot ${action}: there are none in the answer`);
}

/**
 * Changes one endpoint.
 *
 * @returns The endpoint, or the exit code of what went wrong, having told it.
 */
export async function changeEndpoint(
  change: "drain" | "restore",
  id: string,
  { client, edge }: Asking,
): Promise<EndpointRow | number> {
  const answer = await client.post(`/endpoints/${change}`, { id });
  return rowOf(answer, { action: `${change} endpoint "${id}"`, edge });
}

/** A count as people read it. */
export function inFlightText(row: EndpointRow): string {
  const count = Number(row["in_flight"]);
  return `${count} request${count === 1 ? "" : "s"} in flight`;
}
