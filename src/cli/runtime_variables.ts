/**
 * The variables by which the runtime's HTTP server would do something else
 * than it is told here: listen elsewhere, or in two places, compress answers,
 * or believe clients who say what their address is.
 *
 * Whoever may set the environment of a service may do worse, but a variable
 * left over in a shell or an image must not move the admin listener to an
 * address that everybody reaches. There is no other switch against them.
 *
 * Invariant: they are forgotten before anything listens, as the runtime reads
 * them when the first server of the process does.
 *
 * @module
 */

/** By name; `deno.json` lets the program forget them. */
export const RUNTIME_VARIABLES: readonly string[] = [
  "DENO_AUTO_SERVE",
  "DENO_SERVE_ADDRESS",
  "DENO_SERVE_AUTOMATIC_COMPRESSION",
  "DENO_TRUST_PROXY_HEADERS",
];
