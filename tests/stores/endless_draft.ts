/**
 * Begins to replace the snapshot in a directory and never gets to its end:
 * says so once a first part is in the file, and waits to be killed.
 *
 * @module
 */
import { SnapshotFile } from "../../src/stores/snapshot_file.ts";

const file = new SnapshotFile(Deno.args[0] ?? "");

function* endless(): Generator<Uint8Array> {
  yield new Uint8Array(100_000);
  Deno.stdout.writeSync(new TextEncoder().encode("begun\n"));
  for (;;) yield new Uint8Array();
}

await file.write({ pieces: endless, opening: () => new Uint8Array(64) });
