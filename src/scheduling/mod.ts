/**
 * The register of scheduling policies: a new one is a file and a line here.
 *
 * Invariant: nothing but export lines, one for each policy.
 *
 * @module
 */
export { criticalPath } from "./critical_path.ts";
export { fcfs } from "./fcfs.ts";
export { las } from "./las.ts";
export { wspt } from "./wspt.ts";
