/**
 * What an error looks like in the API that was asked: OpenAI's four members,
 * or Anthropic's envelope.
 *
 * Invariant: each shape is made here and nowhere else, whoever the error is
 * from.
 *
 * @module
 */

/** An error, whatever its shape will be. */
export interface ErrorFacts {
  readonly status: number;
  /** OpenAI's type; Anthropic's follows from the status. */
  readonly type: string;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}

/** The request that an error answers. */
export interface FailedRequest {
  readonly target: string;
  readonly requestId: string;
}

/** Anthropic's error types by status, as its API reference lists them. */
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
};

/** The error object in the shape of the API that the target belongs to. */
export function errorShape(
  { code, message, param, status, type }: ErrorFacts,
  { requestId, target }: FailedRequest,
): unknown {
  if (!isAnthropic(target)) return { error: { message, type, param, code } };
  return {
    type: "error",
    error: { type: ANTHROPIC_TYPES[status] ?? "api_error", message },
    request_id: requestId,
  };
}

/** Whether a target is of the Messages API: `/v1/messages` and below. */
export function isAnthropic(target: string): boolean {
  return /^\/v1\/messages(?:[/?]|$)/.test(target);
}
