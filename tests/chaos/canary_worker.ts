/**
 * The real worker, with the bug planted that its name says.
 *
 * @module
 */
import "../../src/wiring/worker.ts";
import { CANARIES } from "../simulation/canaries.ts";

const canary = CANARIES[self.name];
if (canary === undefined) {
  throw new TypeError(`Cannot find canary "${self.name}"`);
}
canary.plant();
