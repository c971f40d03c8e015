/**
 * The register of the filters that derive a session key from a found value.
 *
 * Invariant: export lines only. A new filter is one file beside this one and
 * one line here.
 *
 * @module
 */
export { claudeSession } from "./claude_session.ts";
