/**
 * Whether a tenant may have the model that its request asks for.
 *
 * Where the key of a session only decides on a place, this decides on a right,
 * so it may not take the gateway's reading of a body for the engine's. Of two
 * members `model` the scanner heeds the first, but many engines the last
 * (GoModel #870). A body of a tenant with a list of models is therefore read
 * whole, and passes only where every reader must come to the same.
 *
 * Invariant: what cannot be checked is refused: a body without a model, beyond
 * the sniff window, compressed, or not JSON. Asking which models there are
 * needs none.
 *
 * @module
 */
import type { TenantSettings } from "../config/tenants.ts";
import { GatewayError } from "../core/error.ts";
import { headerValue } from "../core/request.ts";
import type { Call } from "./call.ts";
import type { Sniffed, SniffNeeds } from "./sniff.ts";
import { EMPTY_BODY } from "./watched_body.ts";

const LIST_TARGET = /^\/v1\/models\/?(?:\?|$)/;

/** What a request has to be sniffed for, so that its model can be checked. */
export function sniffNeeds(
  needsModel: boolean,
  settings: TenantSettings | undefined,
): SniffNeeds {
  const isRestricted = settings?.models !== undefined;
  return {
    model: needsModel || isRestricted,
    whole: isRestricted,
    bodyBytesMax: settings && Math.min(
      settings.bodyBytes ?? Infinity,
      settings.key.bodyBytes ?? Infinity,
    ),
  };
}

/** @throws {GatewayError} `model_forbidden`. */
export function checkModel(call: Call<"rank">): void {
  const models = call.tenancy?.settings.models;
  if (models === undefined) return;
  const { head } = call.request;
  const { model } = call.sniffed;
  const isListing = head.method === "GET" || head.method === "HEAD";
  if (isListing && call.request.body === undefined) {
    if (LIST_TARGET.test(head.target)) return;
  }
  if (headerValue(head.headers, "content-encoding") !== undefined) {
    refuse(call, "The model of a compressed body cannot be checked");
  }
  if (model === undefined || !isOnlyModel(call.sniffed, model)) {
    refuse(call, "The request must name one model, in a body of JSON");
  }
  if (!models.includes(model)) refuse(call, undefined);
}

/** Whether every reader of the body finds this model, and once. */
function isOnlyModel(sniffed: Sniffed, model: string): boolean {
  const bytes = wholeBody(sniffed);
  if (bytes === undefined) return false;
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return false;
  }
  if (typeof body !== "object" || body === null) return false;
  // Some readers, Go's among them, take names in any case.
  const names = Object.keys(body)
    .filter((name) => name.toLowerCase() === "model");
  return names.length === 1 && Reflect.get(body, "model") === model;
}

/** The body if all of it is here. */
function wholeBody({ body }: Sniffed): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) return body;
  if (body.rest !== EMPTY_BODY) return undefined;
  const length = body.held.reduce((sum, chunk) => sum + chunk.length, 0);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of body.held) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** What has not been read of the body is not wanted any more. */
function refuse(call: Call<"rank">, message: string | undefined): never {
  call.request.body?.cancel();
  throw new GatewayError("model_forbidden", {
    param: "model",
    ...(message === undefined ? {} : { message }),
  });
}
