/**
 * JSON in and out of the simulated engine.
 *
 * Invariant: the engine validates nothing but that a body is JSON; whatever
 * is missing or of another type reads as absent.
 *
 * @module
 */
import type { Answer } from "./http_answer.ts";

/** An object of unknown members. */
export type JsonObject = Readonly<Record<string, unknown>>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The body as an object; `undefined` when it is no JSON object. */
export function parseObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether a value is an object and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An answer with `value` as its JSON. */
export function jsonAnswer(value: unknown, status = 200): Answer {
  return {
    status,
    headers: [["content-type", "application/json"]],
    body: encoder.encode(JSON.stringify(value)),
  };
}
