/**
 * The files of this folder that hold an exchange.
 *
 * Invariant: every `.http` file beside this one is a case; none is listed.
 *
 * @module
 */
import { type Exchange, parseExchange } from "./exchange_file.ts";

/** One case. */
export interface Case {
  readonly name: string;
  readonly url: URL;
  readonly text: string;
  readonly exchange: Exchange;
}

/** All cases, sorted by name. */
export async function readCases(): Promise<Case[]> {
  const folder = new URL(".", import.meta.url);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".http")) names.push(name);
  }
  return await Promise.all(
    names.sort().map(async (name) => {
      const url = new URL(name, folder);
      const text = await Deno.readTextFile(url);
      try {
        return { name, url, text, exchange: parseExchange(text) };
      } catch (cause) {
        throw new Error(`Cannot read "${name}"`, { cause });
      }
    }),
  );
}
