/**
 * Metrics whose values stand elsewhere: they are read when the page is asked
 * for.
 *
 * prom-client's own gauges and counters keep a value for each set of labels,
 * under a key that is made of them anew each time. A page of 64 endpoints has
 * thousands of values, and none of them needs to be kept. Nor does its way to
 * write a line, in several lists, fit so many: it takes twice as long.
 *
 * Invariant: a value that is not there now is not on the page.
 *
 * @module
 */
import { Counter, Gauge, Registry } from "prom-client";

/** A value and the values of its labels. */
export type Reading = readonly [
  labels: Readonly<Record<string, string>>,
  value: number,
];

/** One metric family. */
export interface ReadFamily {
  readonly kind: "counter" | "gauge";
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly read: () => Iterable<Reading>;
}

/** Labels of a family without any. */
const NO_LABELS: Readonly<Record<string, string>> = {};

/** Puts families on the page. */
export function registerRead(
  families: readonly ReadFamily[],
  registers: Registry[],
): void {
  for (const family of families) {
    if (family.kind === "counter") new ReadCounter(family, registers);
    else new ReadGauge(family, registers);
  }
}

/** A registry that writes these families itself, and has all others written. */
export class ReadRegistry extends Registry {
  override async metrics(): Promise<string> {
    const texts = this.getMetricsAsArray().map((metric) =>
      metric instanceof ReadGauge || metric instanceof ReadCounter
        ? textOf(metric.family)
        : this.getSingleMetricAsString(metric.name)
    );
    return `${(await Promise.all(texts)).join("\n\n")}\n`;
  }
}

/** What `read` is for a family of one value. */
export function single(value: () => number): ReadFamily["read"] {
  return () => [[NO_LABELS, value()]];
}

class ReadGauge extends Gauge {
  readonly family: ReadFamily;

  constructor(family: ReadFamily, registers: Registry[]) {
    super(settingsOf(family, registers));
    this.family = family;
  }

  override get(): ReturnType<Gauge["get"]> {
    return Promise.resolve(linesOf(this.family));
  }
}

class ReadCounter extends Counter {
  readonly family: ReadFamily;

  constructor(family: ReadFamily, registers: Registry[]) {
    super(settingsOf(family, registers));
    this.family = family;
  }

  override get(): ReturnType<Counter["get"]> {
    return Promise.resolve(linesOf(this.family));
  }
}

function settingsOf(family: ReadFamily, registers: Registry[]) {
  const { help, labels, name } = family;
  return { name, help, labelNames: labels ?? [], registers };
}

/** One family, as the registry takes it. */
type Lines = Awaited<ReturnType<Gauge["get"]>>;

/** As the text format says ("Exposition formats", version 0.0.4). */
function textOf({ help, kind, name, read }: ReadFamily): string {
  let text = `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${kind}`;
  for (const [labels, value] of read()) {
    let list = "";
    for (const [label, one] of Object.entries(labels)) {
      list += `${list === "" ? "{" : ","}${label}="${escapedLabel(one)}"`;
    }
    text += `\n${name}${list}${list === "" ? "" : "}"} ${numberText(value)}`;
  }
  return text;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapedLabel(value: string): string {
  return /["\\\n]/.test(value) ? escaped(value).replaceAll('"', '\\"') : value;
}

function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

function linesOf({ help, kind, name, read }: ReadFamily): Lines {
  const values = Array.from(read(), ([labels, value]) => ({ labels, value }));
  // What the declared type wants besides is not looked at.
  const lines: Pick<Lines, "help" | "name" | "values"> & { type: string } = {
    help,
    name,
    type: kind,
    values,
  };
  return lines as unknown as Lines;
}
