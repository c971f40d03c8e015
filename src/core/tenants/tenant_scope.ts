/**
 * The sessions of a tenant, kept apart from those of all others.
 *
 * The hash of a session key is mixed with 128 bits of the SHA-256 of the
 * tenant's name, so that the same key of two tenants is two sessions, in every
 * gateway that has the same tenants, whatever keys they have at the time.
 *
 * The mix keeps apart; it hides nothing. Whoever knows the name of another
 * tenant and the value of one of its session keys may compute a value that
 * meets its record, and could then share its place, but not its answers.
 *
 * Invariant: results never change, as bindings in a snapshot rest on them.
 *
 * @module
 */
import { finalize32, type KeyHash } from "../hash.ts";
import { DIGEST_WORDS, sha256 } from "./sha256.ts";

/** The scope of one tenant. */
export class TenantScope {
  readonly #words = new Int32Array(DIGEST_WORDS);

  constructor(tenant: string) {
    sha256(`tryst tenant ${tenant}`, this.#words);
  }

  /** The hash under which this tenant's session is known. */
  of({ a, b }: KeyHash): KeyHash {
    const [w0 = 0, w1 = 0, w2 = 0, w3 = 0] = this.#words;
    return {
      a: finalize32(finalize32(a ^ w0) + w1 | 0),
      b: finalize32(finalize32(b ^ w2) + w3 | 0),
    };
  }
}
