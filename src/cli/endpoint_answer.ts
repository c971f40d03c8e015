/**
 * What the admin API answers of endpoints, as commands use it.
 *
 * Invariant: an answer of another version may lack a value or have more; what
 * is not there is shown as nothing, never as a zero.
 *
 * @module
 */
import type { AdminAnswer, AdminClient } from "./admin_client.ts";
import { EXIT } from "./command.ts";
import type { Edge } from "./edge.ts";

/** An endpoint by the names of the API. */
export type EndpointRow = Readonly<Record<string, unknown>>;

/**
 * The endpoints that the gateway has now.
 *
 * @throws {Error} when the answer holds none.
 */
export async function listEndpoints(
  client: AdminClient,
): Promise<readonly EndpointRow[]> {
  const answer = await client.get("/endpoints");
  const { body, status } = answer;
  if (isRow(body) && Array.isArray(body["endpoints"])) {
    return body["endpoints"].filter(isRow);
  }
  throw new Error(
    `Cannot read the endpoints: the admin address answered ${status}` +
      ` ${detailOf(answer)}`.trimEnd(),
  );
}

/**
 * Changes one endpoint.
 *
 * @returns The endpoint, or the exit code of what went wrong, having told it.
 */
export async function changeEndpoint(
  change: "drain" | "restore",
  id: string,
  { client, edge }: { readonly client: AdminClient; readonly edge: Edge },
): Promise<EndpointRow | number> {
  const answer = await client.post(`/endpoints/${change}`, { id });
  if (answer.status === 200 && isRow(answer.body)) return answer.body;
  const detail = detailOf(answer) || `the gateway answered ${answer.status}`;
  edge.err(
    detail.startsWith("Cannot")
      ? detail
      : `Cannot ${change} endpoint "${id}": ${detail}`,
  );
  // An admin side without this path is not the gateway that was meant.
  return answer.status === 404 && detail.startsWith("Cannot")
    ? EXIT.refused
    : EXIT.failed;
}

/** A count as people read it. */
export function inFlightText(row: EndpointRow): string {
  const count = Number(row["in_flight"]);
  return `${count} request${count === 1 ? "" : "s"} in flight`;
}

function detailOf({ body }: AdminAnswer): string {
  return isRow(body) && typeof body["detail"] === "string"
    ? body["detail"]
    : "";
}

function isRow(value: unknown): value is EndpointRow {
  return typeof value === "object" && value !== null;
}
