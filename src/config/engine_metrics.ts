/**
 * The keys under `engine_metrics`: how engines are asked for their load.
 *
 * Invariant: without a path no engine is ever asked.
 *
 * @module
 */
import { Refusal } from "./complaint.ts";
import type { Field } from "./field.ts";
import { parseDurationMs } from "./quantity.ts";
import { isRequestPath } from "./request_path.ts";

/** What is configured of engines' metrics. */
export interface EngineMetricsSettings {
  /** `undefined` asks for none. */
  readonly path: string | undefined;
  /** Milliseconds between two readings of one endpoint. */
  readonly intervalMs: number;
}

/** The keys of the `engine_metrics` section. */
export const ENGINE_METRICS_FIELDS: {
  readonly engineMetricsPath: Field<EngineMetricsSettings["path"]>;
  readonly engineMetricsInterval: Field<EngineMetricsSettings["intervalMs"]>;
} = {
  engineMetricsPath: {
    path: "engine_metrics.path",
    initial: "/metrics",
    doc: "Path of an engine's own metrics, which tell how loaded it is, or" +
      " none",
    read: readPath,
  },
  engineMetricsInterval: {
    path: "engine_metrics.interval",
    initial: "2s",
    doc: "Duration between two readings of an engine's metrics",
    read: parseDurationMs,
  },
};

function readPath(value: unknown): string | undefined {
  if (value === "none") return undefined;
  if (isRequestPath(value)) return value;
  throw new Refusal("must be a path such as /metrics, or none");
}
