/**
 * The register of routing policies: a new one is a file and a line here.
 *
 * Invariant: nothing but export lines, one for each policy.
 *
 * @module
 */
export { leastInFlight } from "./least_in_flight.ts";
export { powerOfTwo } from "./power_of_two.ts";
export { random } from "./random.ts";
export { rendezvous } from "./rendezvous.ts";
export { roundRobin } from "./round_robin.ts";
