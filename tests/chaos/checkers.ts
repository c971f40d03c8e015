/**
 * What has to be true of the requests of a run, whatever befell it.
 *
 * Each checker is a function of what was seen, so that a test can forge a
 * record and see it refused.
 *
 * Invariant: a checker returns what is wrong, and nothing when nothing is.
 *
 * @module
 */
import type { ClientRecord, EngineRecord } from "./journal.ts";

/**
 * Most times a request that may be repeated is seen: two attempts, each of
 * which may meet a connection that is just being closed.
 */
const REPEATS_MAX = 4;

/** Methods that may be repeated (RFC 9110, 9.2.2), of those that are sent. */
const IDEMPOTENT: ReadonlySet<string> = new Set(["GET", "PUT"]);

/** Every request ended in one answer that may be, or a broken connection. */
export function endsOnce(clients: readonly ClientRecord[]): string[] {
  const problems: string[] = [];
  const ids = new Set<string>();
  for (const { id, method, plan, end } of clients) {
    const what = `${method} ${id} (${plan})`;
    if (ids.has(id)) problems.push(`${what} ended twice`);
    ids.add(id);
    if (end.kind === "stuck") problems.push(`${what} got no answer and no end`);
    if (end.kind === "wrong") problems.push(`${what}: ${end.problem}`);
  }
  return problems;
}

/** No request was begun twice unless its method allows it, or altered. */
export function noDoubleWork(
  clients: readonly ClientRecord[],
  engines: readonly EngineRecord[],
): string[] {
  const problems: string[] = [];
  const sent = new Map(clients.map((record) => [record.id, record]));
  const counts = new Map<string, number>();
  for (const record of engines) {
    if (record.kind === "refused") {
      problems.push(`an engine was sent what is no request: ${record.reason}`);
      continue;
    }
    const { id } = record;
    const request = sent.get(id);
    if (request === undefined) {
      problems.push(`an engine was sent ${id}, which no client has sent`);
      continue;
    }
    if (record.kind === "whole") {
      if (record.bodyHash !== request.bodyHash) {
        problems.push(`${id} reached an engine with another body`);
      }
      continue;
    }
    if (record.method !== request.method) {
      problems.push(`${id} reached an engine as ${record.method}`);
    }
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    const max = IDEMPOTENT.has(request.method) ? REPEATS_MAX : 1;
    if (count === max + 1) {
      problems.push(`${request.method} ${id} was begun ${count} times`);
    }
  }
  return problems;
}
