/**
 * The value of one flag of a command that reads no configuration.
 *
 * Invariant: precedence is flag, variable, default, and a value that cannot be
 * used is told as one of the configuration is.
 *
 * @module
 */
import { Refusal } from "../config/complaint.ts";
import { complaintsText } from "../config/parse.ts";
import type { ParsedArgs } from "./args.ts";
import type { Edge } from "./edge.ts";
import type { Flag } from "./flags.ts";

/**
 * Reads a setting.
 *
 * @param options.read Throws a `Refusal` for what it does not take.
 * @returns `undefined` after a complaint has been written to standard error.
 */
export function settingOf<T>(
  flag: Flag,
  given: { readonly args: ParsedArgs; readonly edge: Edge },
  options: {
    readonly read: (text: string) => T;
    readonly initial: string;
  },
): T | undefined {
  const { args, edge } = given;
  const ofFlag = args.values.get(flag.name)?.[0];
  const env = flag.env;
  const ofEnv = env === undefined ? undefined : edge.env(env)?.trim();
  const text = ofFlag ?? (ofEnv || options.initial);
  try {
    return options.read(text);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const origin = ofFlag === undefined && env !== undefined ? env : flag.name;
    const value = JSON.stringify(text);
    edge.err(complaintsText([{ origin, value, wanted: error.message }]));
    return undefined;
  }
}
