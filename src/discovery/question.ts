/**
 * The head of what the gateway asks an endpoint about itself: whether it is
 * well, which models it has, how busy it is.
 *
 * Engines that want a credential of their clients mostly want it here too
 * (vLLM asks for its key at everything under `/v1`), so what an endpoint wants
 * to be shown goes along, as with the requests of clients.
 *
 * Invariant: no field is sent twice, and `health.headers` go before the
 * credential, as they are written for these questions alone.
 *
 * @module
 */
import type { EndpointSpec } from "../core/endpoint.ts";
import type { Header } from "../core/request.ts";

/** What an endpoint wants to be shown, by its id; read for each question. */
export type CredentialOf = (endpointId: string) => Header | undefined;

/**
 * The fields of a question, `host` first.
 *
 * @param own What the asking part says of itself, which goes before all else.
 */
export function questionHeaders(
  { health, host, id }: EndpointSpec,
  credentialOf: CredentialOf,
  own: Header,
): Header[] {
  const headers: Header[] = [["host", host], own];
  const credential = credentialOf(id);
  const isReplaced = health.headers.some(([name]) => name === credential?.[0]);
  if (credential !== undefined && !isReplaced) headers.push(credential);
  return headers.concat(health.headers.filter(([name]) => name !== own[0]));
}
