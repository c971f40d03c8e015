/**
 * The register of checkers: what holds in every world.
 *
 * Adding a checker is adding a file and a line here.
 *
 * Invariant: each is planted a bug that it must find, in `canaries.ts`.
 *
 * @module
 */
export { affinityCause } from "./affinity_cause.ts";
export { bounds } from "./bounds.ts";
export { bytesPrefix } from "./bytes_prefix.ts";
export { liveness } from "./liveness.ts";
export { noDoubleWork } from "./no_double_work.ts";
export { settleOnce } from "./settle_once.ts";
