/**
 * Configurations as tests of the configuration read them: with names of their
 * own in place of the rooms above.
 *
 * Invariant: an outcome that a test does not expect fails it, and says why.
 *
 * @module
 */
import { assert } from "@std/assert";
import type { Config, ConfigNames } from "../src/config/config.ts";
import { complaintsText, parseConfig } from "../src/config/parse.ts";

/** Some names of each register, the defaults among them. */
export const NAMES: ConfigNames = {
  parseSource: () => undefined,
  defaultSources: ["header:x-session-id"],
  policyNames: ["rendezvous", "power_of_two"],
  schedulingNames: ["critical_path", "fcfs", "las"],
};

/** The configuration that a document comes to. */
export function accepted(document: unknown): Config {
  const result = parseConfig(document, { names: NAMES });
  const text = result.kind === "refused"
    ? complaintsText(result.complaints)
    : "";
  assert(result.kind === "accepted", text);
  return result.config;
}

/** The lines of what is complained about a document. */
export function refused(document: unknown): string[] {
  const result = parseConfig(document, { names: NAMES });
  assert(result.kind === "refused", "Expected complaints");
  return complaintsText(result.complaints).split("\n");
}
