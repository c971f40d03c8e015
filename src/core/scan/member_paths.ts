/**
 * The members of a JSON object that a scanner looks for, as a tree of names.
 *
 * The tree is built once and shared by all scanners. Sets of paths are bit
 * sets, so that "does anything below this member still matter" is one `&`.
 *
 * Invariant: a path may be the prefix of another (`conversation` and
 * `conversation.id`), and both are found.
 *
 * @module
 */
import { isBlank } from "../bytes.ts";
import { SESSION_KEY_BYTES_MAX } from "../session_key.ts";

/** Most paths of one tree: the bits of a small integer. */
export const MEMBER_PATHS_MAX = 30;

/** One path to look for. */
export interface MemberPath {
  /** Member names from the root of the JSON object, at least one. */
  readonly members: readonly string[];
  /** Values up to this many bytes are reported whole. */
  readonly bytesMax: number;
}

/** A member name in the tree; the root stands for the whole document. */
export class MemberNode {
  readonly parent: MemberNode | undefined;
  readonly name: Uint8Array;
  /** Index of the path that ends here, or -1. */
  index = -1;
  /** Bit of the path that ends here, or 0. */
  bit = 0;
  /** Bits of the paths that lead on from here. */
  below = 0;
  /** Values up to this many bytes are reported whole. */
  bytesMax = 0;
  /** Children by the byte length of their names. */
  readonly #byLength: (MemberNode[] | undefined)[] = [];

  constructor(parent: MemberNode | undefined, name: Uint8Array) {
    this.parent = parent;
    this.name = name;
  }

  /** The child named by the bytes of `source` in `[from, to)`, if any. */
  child(source: Uint8Array, from: number, to: number): MemberNode | undefined {
    const candidates = this.#byLength[to - from];
    if (candidates === undefined) return undefined;
    next:
    for (const candidate of candidates) {
      const { name } = candidate;
      for (let i = 0; i < name.length; i++) {
        if (name[i] !== source[from + i]) continue next;
      }
      return candidate;
    }
    return undefined;
  }

  /** The child of that name, made when it is missing. */
  grow(name: Uint8Array): MemberNode {
    const known = this.child(name, 0, name.length);
    if (known !== undefined) return known;
    while (this.#byLength.length <= name.length) this.#byLength.push(undefined);
    const made = new MemberNode(this, name);
    (this.#byLength[name.length] ??= []).push(made);
    return made;
  }
}

/** A fixed set of paths. Path `i` of the list has the bit `1 << i`. */
export class MemberPaths {
  readonly root = new MemberNode(undefined, new Uint8Array());

  /** @throws {TypeError} for too many, repeated, empty or over-long paths. */
  constructor(paths: readonly MemberPath[]) {
    if (paths.length > MEMBER_PATHS_MAX) {
      throw new TypeError(
        `Cannot look for more than ${MEMBER_PATHS_MAX} body members: ` +
          `current count is ${paths.length}`,
      );
    }
    paths.forEach((path, index) => this.#add(path, index));
  }

  #add(path: MemberPath, index: number): void {
    const shown = path.members.join(".");
    if (path.members.length === 0) {
      throw new TypeError("Cannot look for a body member without a name");
    }
    let node = this.root;
    for (const member of path.members) {
      const name = new TextEncoder().encode(member);
      if (isBlank(name)) {
        throw new TypeError(
          `Cannot look for body member "${shown}" as it has a blank name`,
        );
      }
      if (name.length > SESSION_KEY_BYTES_MAX) {
        throw new TypeError(
          `Cannot look for body member "${shown}" as a name must have at ` +
            `most ${SESSION_KEY_BYTES_MAX} bytes: current is ${name.length}`,
        );
      }
      node.below |= 1 << index;
      node = node.grow(name);
    }
    if (node.bit !== 0) {
      throw new TypeError(`Cannot look for body member "${shown}" twice`);
    }
    node.index = index;
    node.bit = 1 << index;
    node.bytesMax = path.bytesMax;
  }
}
