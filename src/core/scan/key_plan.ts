/**
 * The ordered list of session-key sources, compiled for speed.
 *
 * The sources of a plan are one list, head and body in any order, and the
 * first that yields a usable value wins. The usual plan asks for a dozen
 * headers: they are found in one pass over the fields that a request has,
 * instead of one pass for each.
 *
 * Invariant: the outcome is that of asking every source in order.
 *
 * @module
 */
import type { RequestHead } from "../request.ts";
import type { SessionKeySource } from "../session_key_source.ts";
import type { KeyHash } from "../hash.ts";
import { BodyPlan, BodySniff, type FoundKey } from "./body_sniff.ts";
import { latin1Bytes } from "../bytes.ts";
import { FILTER_VALUE_BYTES_MAX, hashKey } from "../session_key.ts";

/** Most sources of one plan: three times what all known clients need. */
export const SESSION_KEY_SOURCES_MAX = 64;

/** What the names of sources that look in the path begin with. */
const PATH_PREFIX = "path:";

/** A source that looks in the head, and its place in the plan's list. */
interface RankedSource {
  readonly rank: number;
  readonly source: SessionKeySource & { readonly kind: "head" };
}

/** Finds the session key of requests. */
export class KeyPlan {
  /** Names of the sources as configured; `FoundKey.sourceIndex` is an index. */
  readonly sourceNames: readonly string[];
  readonly #body: BodyPlan;
  /** By header name: the sources that yield its value, best rank first. */
  readonly #byHeader = new Map<string, RankedSource[]>();
  /** Head sources that look elsewhere, best rank first. */
  readonly #others: RankedSource[] = [];
  /** Holds one header value while it is filtered and hashed. */
  readonly #scratch = new Uint8Array(FILTER_VALUE_BYTES_MAX);

  /** @throws {TypeError} for too many sources or too many body members. */
  constructor(sources: readonly SessionKeySource[]) {
    if (sources.length > SESSION_KEY_SOURCES_MAX) {
      throw new TypeError(
        `Cannot use more than ${SESSION_KEY_SOURCES_MAX} session-key ` +
          `sources: current count is ${sources.length}`,
      );
    }
    this.sourceNames = sources.map((source) => source.name);
    this.#body = new BodyPlan(sources);
    sources.forEach((source, rank) => {
      if (source.kind === "head") this.#addHeadSource({ rank, source });
    });
  }

  /** The key of the best source that looks in the head, if any has one. */
  fromHead(head: RequestHead): FoundKey | undefined {
    let found: FoundKey | undefined;
    for (const [name, value] of head.headers) {
      const ranked = this.#byHeader.get(name);
      if (ranked === undefined) continue;
      const bytes = latin1Bytes(value, this.#scratch);
      found = firstKey(ranked, found, () => bytes) ?? found;
    }
    if (this.#others.length === 0) return found;
    const find = ({ source }: RankedSource) => source.find(head);
    return firstKey(this.#others, found, find) ?? found;
  }

  /** The template of the path source that the target matches, if one does. */
  pathTemplate(head: RequestHead): string | undefined {
    const ranked = this.#others.find(({ source }) =>
      source.name.startsWith(PATH_PREFIX) && source.find(head) !== undefined
    );
    return ranked?.source.name.slice(PATH_PREFIX.length);
  }

  /** Whether a body could hold a key of a better source than `found`. */
  bodyMayImprove(found: FoundKey | undefined): boolean {
    return this.#body.keyBits(found?.sourceIndex ?? Infinity) !== 0;
  }

  /**
   * Starts the sniff of a body, given what the head yielded.
   *
   * With `needModel` the sniff is not decided until the model is known, even
   * where no better key can appear.
   */
  createSniff(
    found: FoundKey | undefined,
    options: { readonly needModel: boolean },
  ): BodySniff {
    return new BodySniff(this.#body, { found, ...options });
  }

  #addHeadSource(ranked: RankedSource): void {
    const { header } = ranked.source;
    if (header === undefined) {
      this.#others.push(ranked);
      return;
    }
    const known = this.#byHeader.get(header) ?? [];
    this.#byHeader.set(header, [...known, ranked]);
  }
}

/** The key of the first source with a usable value that beats `found`. */
function firstKey(
  ranked: readonly RankedSource[],
  found: FoundKey | undefined,
  valueOf: (one: RankedSource) => Uint8Array | undefined,
): FoundKey | undefined {
  const rankMax = found?.sourceIndex ?? Infinity;
  for (const one of ranked) {
    if (one.rank >= rankMax) return undefined;
    const value = valueOf(one);
    const hash = value === undefined ? undefined : keyOf(one, value);
    if (hash !== undefined) return { hash, sourceIndex: one.rank };
  }
  return undefined;
}

/** The hash of the key that a value holds, `undefined` when it holds none. */
function keyOf(
  { source }: RankedSource,
  value: Uint8Array,
): KeyHash | undefined {
  const { filter } = source;
  if (filter === undefined) return hashKey(value);
  if (value.length > FILTER_VALUE_BYTES_MAX) return undefined;
  const key = filter(value);
  return key === undefined ? undefined : hashKey(key);
}
