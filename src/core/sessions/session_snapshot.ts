/**
 * The file format of a snapshot of the session table.
 *
 * | Bytes | What |
 * | --- | --- |
 * | 0 to 7 | the name of the format |
 * | 8 to 11 | its version |
 * | 12 to 15 | bytes of the head |
 * | 16 to 19 | how many records |
 * | 20 to 31 | zero |
 * | 32 to 63 | SHA-256 over the head, the records and bytes 0 to 31 |
 * | then | the head (`snapshot_head.ts`), then the records |
 *
 * Numbers are little-endian. The opening comes last into the checksum, so that
 * a writer that does not know the count in advance can write the file from
 * front to back, keep nothing, and fill in the opening at the end.
 *
 * SHA-256 rather than a CRC because the runtime computes it natively, some
 * 5 ms for 200,000 sessions, and no damage of any kind passes. It is no
 * signature: who can write the file can move sessions.
 *
 * Bindings are by the id of an endpoint, as slots are given out anew at each
 * start. Keys are the hashes of the table, already kept apart by pool.
 *
 * Invariant: whatever bytes are given, either they are those that a writer of
 * this version has written, or they are refused with the reason.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  parseHead,
  type SnapshotHead,
  SnapshotRefusal,
} from "./snapshot_head.ts";
import { RECORD_BYTES, type SessionRecord } from "./snapshot_record.ts";

/** Sizes, places and bounds of the format. */
export const FORMAT = {
  name: new TextEncoder().encode("TRYSTSES"),
  version: 1,
  openingBytes: 64,
  versionAt: 8,
  headBytesAt: 12,
  countAt: 16,
  digestAt: 32,
  /** Ids, and the names of all models: 16 MiB are some hundred thousand. */
  headBytesMax: 2 ** 24,
  /** The largest session table has no more records. */
  countMax: 2 ** 24,
} as const;

/** A snapshot whose checksum holds. */
export interface Snapshot {
  readonly head: SnapshotHead;
  readonly count: number;
  /** Reads record `index`, from 0 to below `count`, into `record`. */
  read(index: number, record: SessionRecord): void;
}

/**
 * How many bytes a file must have that opens like this. Whoever reads a file
 * asks before it takes memory for the rest.
 *
 * @param opening The first 64 bytes, or all when there are fewer.
 * @throws {SnapshotRefusal}
 */
export function snapshotBytes(opening: Uint8Array): number {
  const { countMax, headBytesMax, openingBytes } = FORMAT;
  if (FORMAT.name.some((byte, at) => opening[at] !== byte)) {
    throw new SnapshotRefusal("is no snapshot of sessions");
  }
  if (opening.length < openingBytes) {
    throw new SnapshotRefusal(
      `ends after ${opening.length} bytes: its opening has ${openingBytes}`,
    );
  }
  const view = viewOf(opening);
  const version = view.getUint32(FORMAT.versionAt, true);
  if (version !== FORMAT.version) {
    throw new SnapshotRefusal(
      `has format version ${version}: this program reads ${FORMAT.version}`,
    );
  }
  const headBytes = view.getUint32(FORMAT.headBytesAt, true);
  const count = view.getUint32(FORMAT.countAt, true);
  if (headBytes > headBytesMax || count > countMax) {
    throw new SnapshotRefusal(
      `claims a head of ${headBytes} bytes and ${count} sessions: at most` +
        ` ${headBytesMax} and ${countMax} are read`,
    );
  }
  return openingBytes + headBytes + count * RECORD_BYTES;
}

/**
 * Checks a whole file and gives access to what it holds.
 *
 * @throws {SnapshotRefusal}
 */
export function openSnapshot(bytes: Uint8Array): Snapshot {
  const { digestAt, openingBytes } = FORMAT;
  const wanted = snapshotBytes(bytes.subarray(0, openingBytes));
  if (bytes.length !== wanted) {
    throw new SnapshotRefusal(
      `has ${bytes.length} bytes: its opening tells of ${wanted}`,
    );
  }
  const digest = createHash("sha256")
    .update(bytes.subarray(openingBytes))
    .update(bytes.subarray(0, digestAt))
    .digest();
  if (digest.some((byte, at) => bytes[digestAt + at] !== byte)) {
    throw new SnapshotRefusal("is damaged: its checksum does not hold");
  }
  const view = viewOf(bytes);
  const recordsAt = openingBytes + view.getUint32(FORMAT.headBytesAt, true);
  return {
    head: parseHead(bytes.subarray(openingBytes, recordsAt)),
    count: view.getUint32(FORMAT.countAt, true),
    read: (index, record) =>
      record.read(view, recordsAt + index * RECORD_BYTES),
  };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
