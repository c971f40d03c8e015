/**
 * Reads from an engine's page of metrics how busy the engine says it is.
 *
 * Only the names of `engine_dialects.ts` are looked at. An engine of several
 * ranks prints a series for each: requests and tokens are added up, the usage
 * of the cache is that of the fullest rank, a rate is their mean.
 *
 * Invariant: nothing throws, whatever the page holds; the cost is linear in
 * the page, and what is kept of it bounded. A gauge of which any series cannot
 * be used is unknown, never half a sum.
 *
 * @module
 */
import {
  ENGINE_DIALECTS,
  type EngineDialect,
  GAUGE_NAMES,
  type GaugeName,
} from "./engine_dialects.ts";
import { readSample, type Sample, subjectOf } from "./metric_line.ts";

/** How busy an engine says it is; `undefined` where it does not say. */
export interface EngineGauges {
  /** The engine's family, one of `ENGINE_DIALECTS`. */
  readonly engine: string;
  /** Requests that it works on. */
  readonly running: number | undefined;
  /** Requests that wait inside it. */
  readonly waiting: number | undefined;
  /** Share of the KV cache in use, 0 to 1. */
  readonly cacheUsage: number | undefined;
  /** Tokens looked up in the prefix cache since the engine's start. */
  readonly prefixQueries: number | undefined;
  /** Of those, the tokens that were found. */
  readonly prefixHits: number | undefined;
  /** Share of tokens found lately, 0 to 1, by the engine's own account. */
  readonly prefixHitRate: number | undefined;
}

/** Series of one name; more than any engine has ranks and models. */
const SERIES_MAX = 1_024;

/**
 * Shares are rounded and may come out a little over 1. What is larger is in
 * percent or no share at all.
 */
const SHARE_MAX = 1.01;

/** How the series of a gauge become one number, and whether it is a share. */
const GAUGES: {
  readonly [G in GaugeName]: {
    readonly join: "sum" | "largest" | "mean";
    readonly isShare: boolean;
  };
} = {
  running: { join: "sum", isShare: false },
  waiting: { join: "sum", isShare: false },
  cacheUsage: { join: "largest", isShare: true },
  prefixQueries: { join: "sum", isShare: false },
  prefixHits: { join: "sum", isShare: false },
  prefixHitRate: { join: "mean", isShare: true },
};

/** A name as pages write it. */
interface Spelling {
  readonly gauge: GaugeName;
  readonly dialect: EngineDialect;
}

/** Every name by every way to write it. */
const SPELLINGS: ReadonlyMap<string, Spelling> = new Map(
  ENGINE_DIALECTS.flatMap((dialect) =>
    GAUGE_NAMES.flatMap((gauge) =>
      spellings(dialect, gauge).map((name) =>
        [name, { gauge, dialect }] as const
      )
    )
  ),
);

/** The first characters of names, to pass over other lines at little cost. */
const STARTS: ReadonlySet<number> = new Set(
  ["#", " ", "\t", ...ENGINE_DIALECTS.map(({ prefix }) => prefix)]
    .map((start) => start.charCodeAt(0)),
);

/** What has been seen of one name. */
interface Tally {
  /** The largest value by the labels that split the number up. */
  readonly values: Map<string, number>;
  isVoid: boolean;
}

/**
 * Reads a page of metrics in the Prometheus text format.
 *
 * @returns `undefined` when no known engine has written the page. An engine
 * that has, but has not measured anything yet, says nothing about each gauge.
 */
export function readEngineGauges(page: string): EngineGauges | undefined {
  const tallies = new Map<string, Tally>();
  const writers = new Set<EngineDialect>();
  for (let at = 0; at < page.length;) {
    const lineEnd = page.indexOf("\n", at);
    const end = lineEnd < 0 ? page.length : lineEnd;
    if (STARTS.has(page.charCodeAt(at))) {
      readLine(page.slice(at, end), tallies, writers);
    }
    at = end + 1;
  }
  const candidates = ENGINE_DIALECTS
    .filter((dialect) => writers.has(dialect))
    .map((dialect) => gaugesOf(dialect, tallies));
  return candidates.find(saysSomething) ?? candidates[0];
}

function readLine(
  line: string,
  tallies: Map<string, Tally>,
  writers: Set<EngineDialect>,
): void {
  const subject = subjectOf(line);
  if (subject === undefined) return;
  const { name, isComment, end } = subject;
  const spelling = SPELLINGS.get(name);
  const dialect = spelling?.dialect ?? writerOf(name);
  if (dialect !== undefined) writers.add(dialect);
  if (spelling === undefined || isComment) return;
  let tally = tallies.get(name);
  if (tally === undefined) {
    tally = { values: new Map(), isVoid: false };
    tallies.set(name, tally);
  }
  if (!tally.isVoid) addSample(tally, spelling, readSample(line, end));
}

function addSample(
  tally: Tally,
  { gauge, dialect: { repeats } }: Spelling,
  sample: Sample | undefined,
): void {
  const value = sample?.value ?? NaN;
  const max = GAUGES[gauge].isShare ? SHARE_MAX : Number.MAX_VALUE;
  if (sample === undefined || !(value >= 0 && value <= max)) {
    tally.isVoid = true;
    return;
  }
  const { values } = tally;
  const key = sample.labels
    .filter(([name]) => !repeats.includes(name))
    .map(([name, value]) => `${name}=${value}`)
    .sort()
    .join();
  values.set(key, Math.max(values.get(key) ?? 0, value));
  if (values.size > SERIES_MAX) tally.isVoid = true;
}

function gaugesOf(
  dialect: EngineDialect,
  tallies: ReadonlyMap<string, Tally>,
): EngineGauges {
  function read(gauge: GaugeName): number | undefined {
    for (const name of spellings(dialect, gauge)) {
      const joined = join(gauge, tallies.get(name));
      if (joined !== undefined) return joined;
    }
    return undefined;
  }
  return {
    engine: dialect.engine,
    running: read("running"),
    waiting: read("waiting"),
    cacheUsage: read("cacheUsage"),
    prefixQueries: read("prefixQueries"),
    prefixHits: read("prefixHits"),
    prefixHitRate: read("prefixHitRate"),
  };
}

function saysSomething(gauges: EngineGauges): boolean {
  return GAUGE_NAMES.some((gauge) => gauges[gauge] !== undefined);
}

/** The series of a name as one number. */
function join(gauge: GaugeName, tally: Tally | undefined): number | undefined {
  if (tally === undefined || tally.isVoid) return undefined;
  const values = [...tally.values.values()];
  const { join, isShare } = GAUGES[gauge];
  const sum = values.reduce((total, value) => total + value, 0);
  const joined = join === "largest"
    ? Math.max(...values)
    : join === "mean"
    ? sum / values.length
    : sum;
  if (!Number.isFinite(joined)) return undefined;
  return isShare ? Math.min(joined, 1) : joined;
}

/** Every way to write the names of a gauge, best first. */
function spellings({ prefix, names }: EngineDialect, gauge: GaugeName) {
  return (names[gauge] ?? []).flatMap((name) => {
    const bare = name.replace(/_total$/, "");
    const written = bare === name ? [name] : [name, bare];
    return [":", "_"].flatMap((joint) =>
      written.map((form) => prefix + joint + form)
    );
  });
}

/** The family whose prefix a name has. */
function writerOf(name: string): EngineDialect | undefined {
  return ENGINE_DIALECTS.find(({ prefix }) =>
    name.startsWith(prefix) && /[:_]/.test(name.charAt(prefix.length))
  );
}
