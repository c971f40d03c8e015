/**
 * The register of the kinds of session-key sources.
 *
 * Invariant: export lines only. A new kind is one file beside this one and one
 * line here.
 *
 * @module
 */
export { bodyKind } from "./body.ts";
export { cookieKind } from "./cookie.ts";
export { headerKind } from "./header.ts";
export { pathKind } from "./path.ts";
export { queryKind } from "./query.ts";
