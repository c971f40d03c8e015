/**
 * The keys under `tracing`: where spans go, and of which requests.
 *
 * Invariant: without a collector there are no spans, and the trace context of
 * a request passes untouched.
 *
 * @module
 */
import type { Address } from "../core/outside.ts";
import { Refusal } from "./complaint.ts";
import { type EndpointPlace, parseEndpointUrl } from "./endpoint_url.ts";
import type { Field } from "./field.ts";
import { parseNumber } from "./number.ts";

/** Where spans are sent to. */
export interface Collector {
  readonly address: Address;
  /** The value of `Host`. */
  readonly host: string;
  /** Without a slash at its end; often empty. */
  readonly basePath: string;
}

/** What is configured of tracing. */
export interface TracingSettings {
  /** The URL of the collector; `undefined` traces nothing. */
  readonly endpoint: string | undefined;
  /** Share of the requests traced whose caller has not decided; 0 to 1. */
  readonly sample: number;
}

const SHARE_BOUNDS = { min: 0, max: 1 };

/** The keys of the `tracing` section. */
export const TRACING_FIELDS: {
  readonly tracingEndpoint: Field<TracingSettings["endpoint"]>;
  readonly tracingSample: Field<TracingSettings["sample"]>;
} = {
  tracingEndpoint: {
    path: "tracing.endpoint",
    initial: "none",
    doc:
      "URL of an OpenTelemetry collector that takes OTLP over HTTP, such as" +
      " http://127.0.0.1:4318, or none",
    needsRestart: true,
    read: readEndpoint,
  },
  tracingSample: {
    path: "tracing.sample",
    initial: 1,
    doc: "Share of the requests traced whose caller has not decided, 0 to 1",
    read: (value) => parseNumber(value, SHARE_BOUNDS),
  },
};

/** The collector that is configured, if one is. */
export function collectorOf(
  { endpoint }: TracingSettings,
): Collector | undefined {
  return endpoint === undefined ? undefined : placeOf(endpoint);
}

function readEndpoint(value: unknown): string | undefined {
  return value === "none" ? undefined : placeOf(value).url;
}

function placeOf(value: unknown): EndpointPlace {
  const [place, another] = parseEndpointUrl(value);
  if (place !== undefined && another === undefined) return place;
  throw new Refusal("must be one URL, or none");
}
