/**
 * Errors of the admin API, as problem details (RFC 9457).
 *
 * Invariant: whatever goes wrong is answered in this shape, and `detail` says
 * what was wanted.
 *
 * @module
 */
import { STATUS_TEXT, type StatusCode } from "@std/http/status";

/** Something that is wrong with an admin request. */
export class Problem extends Error {
  readonly status: StatusCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: StatusCode,
    detail: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(detail);
    this.status = status;
    this.headers = headers;
  }
}

/** A problem of the kind that its status names (RFC 9457, 4.2.1). */
export function problemResponse(problem: Problem): Response {
  const { headers, message, status } = problem;
  const body = {
    type: "about:blank",
    title: STATUS_TEXT[status],
    status,
    detail: message,
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...headers, "content-type": "application/problem+json" },
  });
}
