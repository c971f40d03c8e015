/**
 * Looks for session keys, the model and the stream switch in one body.
 *
 * One pass of one scanner serves all three. What still matters shrinks as
 * values are found: a source that ranks after the best one found so far is no
 * longer looked for, and when nothing is left no further byte is looked at.
 *
 * Invariant: the key of the best-ranked source that has a usable value wins,
 * wherever in the body it stands; within a source the first usable value wins.
 *
 * @module
 */
import type { ScanSink, ScanValue } from "./scan_sink.ts";
import type { SessionKeySource } from "../session_key_source.ts";
import type { KeyHash } from "../hash.ts";
import { JsonScanner } from "./json_scanner.ts";
import { type MemberPath, MemberPaths } from "./member_paths.ts";
import {
  FILTER_VALUE_BYTES_MAX,
  hashKey,
  SESSION_KEY_BYTES_MAX,
} from "../session_key.ts";

/** A session key, and the rank of the source that it came from. */
export interface FoundKey {
  readonly hash: KeyHash;
  /** Index of the source in the plan's list; lower wins. */
  readonly sourceIndex: number;
}

/** A source that looks in the body, and its place in the plan's list. */
interface RankedSource {
  readonly rank: number;
  readonly source: SessionKeySource & { readonly kind: "body" };
}

/** The sources that read one path, best rank first. */
interface SourceGroup {
  readonly path: readonly string[];
  readonly sources: RankedSource[];
}

/** A mark at the start of a model's name is part of it. */
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });

const MODEL_PATH: readonly string[] = ["model"];
const STREAM_PATH: readonly string[] = ["stream"];

/** What to look for in bodies; compiled once, shared by all of them. */
export class BodyPlan {
  readonly paths: MemberPaths;
  readonly modelIndex: number;
  readonly streamIndex: number;
  /** By path: the sources that read it, best rank first. */
  readonly sourcesOf: readonly (readonly RankedSource[])[];
  /** By rank: bits of the paths that a source of a better rank reads. */
  readonly #bitsBelow: readonly number[];
  #lastModel = { bytes: new Uint8Array(), name: "" };

  /** @throws {TypeError} when the sources need too many different paths. */
  constructor(sources: readonly SessionKeySource[]) {
    const groups = new Map<string, SourceGroup>();
    sources.forEach((source, rank) => {
      if (source.kind !== "body") return;
      groupOf(groups, source.path).sources.push({ rank, source });
    });
    const model = groupOf(groups, MODEL_PATH);
    const stream = groupOf(groups, STREAM_PATH);
    const list = [...groups.values()];
    this.modelIndex = list.indexOf(model);
    this.streamIndex = list.indexOf(stream);
    this.sourcesOf = list.map((group) => group.sources);
    this.paths = new MemberPaths(list.map(toMemberPath));
    this.#bitsBelow = Array.from(
      { length: sources.length + 1 },
      (_, rank) => this.#bitsOfBetter(rank),
    );
  }

  /** Bits of the paths whose value could beat a key of this rank. */
  keyBits(rank: number): number {
    return this.#bitsBelow[Math.min(rank, this.#bitsBelow.length - 1)] ?? 0;
  }

  /** The name in `bytes`; decoded once while requests ask for one model. */
  modelName(bytes: Uint8Array): string {
    const last = this.#lastModel;
    if (isEqual(last.bytes, bytes)) return last.name;
    this.#lastModel = { bytes: bytes.slice(), name: UTF8.decode(bytes) };
    return this.#lastModel.name;
  }

  #bitsOfBetter(rank: number): number {
    let bits = 0;
    this.sourcesOf.forEach((ranked, index) => {
      if (ranked.some((one) => one.rank < rank)) bits |= 1 << index;
    });
    return bits;
  }
}

/** What a sniff starts from. */
export interface SniffOptions {
  /** The key that the head gave, if any. */
  readonly found: FoundKey | undefined;
  /** Whether the sniff is undecided until the model is known. */
  readonly needModel: boolean;
}

/** The sniff of one body. */
export class BodySniff {
  readonly #plan: BodyPlan;
  readonly #scanner: JsonScanner;
  #found: FoundKey | undefined;
  #needsModel: boolean;
  #model: string | undefined;
  #stream: boolean | undefined;

  constructor(plan: BodyPlan, options: SniffOptions) {
    this.#plan = plan;
    this.#found = options.found;
    this.#needsModel = options.needModel;
    const sink: ScanSink = {
      found: (index, value) => this.#take(index, value),
    };
    this.#scanner = new JsonScanner(plan.paths, sink, this.#wanted());
  }

  /** The best key so far, from the head or from the body. */
  get found(): FoundKey | undefined {
    return this.#found;
  }

  /**
   * The requested model, when it was asked for and stands in the body.
   * A name over 1,024 bytes is no model's, and absent.
   */
  get model(): string | undefined {
    return this.#model;
  }

  /** The value of `stream`, when it stood before the sniff was decided. */
  get stream(): boolean | undefined {
    return this.#stream;
  }

  /** Whether the body is not a JSON object, or broken where it was read. */
  get gaveUp(): boolean {
    return this.#scanner.status === "gave_up";
  }

  /** Whether nothing that is still to come can change the outcome. */
  get isDecided(): boolean {
    return this.#scanner.status !== "more";
  }

  /** Takes the next bytes, in any split; returns `isDecided`. */
  push(chunk: Uint8Array): boolean {
    return this.#scanner.push(chunk) !== "more";
  }

  /** Says that the body has ended. */
  end(): void {
    this.#scanner.end();
  }

  /** Paths that still matter; the stream switch alone is not worth a byte. */
  #wanted(): number {
    const rank = this.#found?.sourceIndex ?? Infinity;
    let bits = this.#plan.keyBits(rank);
    if (this.#needsModel) bits |= 1 << this.#plan.modelIndex;
    if (bits !== 0 && this.#stream === undefined) {
      bits |= 1 << this.#plan.streamIndex;
    }
    return bits;
  }

  #take(index: number, value: ScanValue): number {
    if (value.kind === "boolean") {
      if (index === this.#plan.streamIndex) this.#stream ??= value.value;
      return this.#wanted();
    }
    if (index === this.#plan.modelIndex && value.kind === "string") {
      this.#takeModel(value.bytes);
    }
    for (const { rank, source } of this.#plan.sourcesOf[index] ?? []) {
      if (rank >= (this.#found?.sourceIndex ?? Infinity)) break;
      if (value.kind === "digest" && source.filter !== undefined) continue;
      const { filter } = source;
      const key = filter === undefined ? value.bytes : filter(value.bytes);
      const hash = key === undefined ? undefined : hashKey(key);
      if (hash !== undefined) this.#found = { hash, sourceIndex: rank };
    }
    return this.#wanted();
  }

  #takeModel(bytes: Uint8Array): void {
    if (!this.#needsModel || bytes.length > SESSION_KEY_BYTES_MAX) return;
    this.#model = this.#plan.modelName(bytes);
    this.#needsModel = false;
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The group of the sources that read `path`, made when it is missing. */
function groupOf(
  groups: Map<string, SourceGroup>,
  path: readonly string[],
): SourceGroup {
  const name = JSON.stringify(path);
  const group = groups.get(name) ?? { path, sources: [] };
  groups.set(name, group);
  return group;
}

/** The path of a group; a filter must see the whole value. */
function toMemberPath({ path, sources }: SourceGroup): MemberPath {
  const hasFilter = sources.some((one) => one.source.filter !== undefined);
  return {
    members: path,
    bytesMax: hasFilter ? FILTER_VALUE_BYTES_MAX : SESSION_KEY_BYTES_MAX,
  };
}
