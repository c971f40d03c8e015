/**
 * A program that takes the terminal over and then fails.
 *
 * Invariant: nothing gives the terminal back but `using`.
 *
 * @module
 */
import { Terminal } from "../../src/cli/top/terminal.ts";

/** Draws once and fails. */
function fail(): never {
  using terminal = new Terminal({ key() {}, resized() {}, ended() {} });
  terminal.draw(["drawn"]);
  throw new Error("Cannot go on");
}

try {
  fail();
} catch {
  await new Deno.Command("sh", {
    args: ["-c", 'echo "left=$(stty -g)"'],
    stdin: "inherit",
    stdout: "inherit",
  }).output();
}
Deno.exit(1);
