/**
 * Whether standard error is read by the journal of systemd, which takes the
 * priority of a line from a prefix: sd-daemon(3).
 *
 * Invariant: only a stream that goes to the journal right away counts. The
 * variable is inherited by everything that a service starts, also by what has
 * its output somewhere else.
 *
 * @module
 */
import { fstatSync } from "node:fs";

/** The descriptor of standard error. */
const STDERR = 2;

/**
 * Compares standard error with the device and inode that systemd gives in
 * `JOURNAL_STREAM`, as systemd.exec(5) advises.
 */
export function isJournal(journalStream: string | undefined): boolean {
  if (journalStream === undefined) return false;
  const { dev, ino } = fstatSync(STDERR);
  return journalStream === `${dev}:${ino}`;
}
