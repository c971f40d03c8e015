/**
 * What must be true of a session table that nobody uses at the moment.
 *
 * Invariant: it reads the memory itself, so that it also sees what no search
 * finds.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { tagOf } from "../../src/core/sessions/session_owner.ts";
import {
  FIELD,
  fieldsOf,
  LAYOUT,
} from "../../src/core/sessions/session_record.ts";
import type { SessionTable } from "../../src/core/sessions/session_table.ts";

/** Looks at every record: all must be free or idle, and counted. */
export function assertAtRest(table: SessionTable): void {
  const words = new Int32Array(table.buffer);
  const keys: string[] = [];
  for (let record = 0; record < table.capacity; record++) {
    assertEquals(words[fieldsOf(record) + FIELD.pins], 0, "a hold is left");
    const a = words[tagOf(record)] ?? 0;
    const b = words[tagOf(record) + LAYOUT.bucketRecords] ?? 0;
    assertEquals(a !== 0, b !== 0, "a record is neither free nor idle");
    if (a !== 0) keys.push(`${a},${b}`);
  }
  assertEquals(new Set(keys).size, keys.length, "a key has two records");
  assertEquals(table.gauges().occupied, keys.length);
}
