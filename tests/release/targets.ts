/**
 * The machines that executables are made for, and how to tell what one was
 * made for.
 *
 * Sources: the ELF specification (`e_ident`, `e_machine`), and Apple's
 * `mach-o/loader.h` and `mach/machine.h`.
 *
 * Invariant: what a file is, is read from the file. The compiler takes a base
 * from the environment for any target, and says nothing.
 *
 * @module
 */

/** A machine. */
export interface ReleaseTarget {
  /** As `deno compile --target` has it. */
  readonly target: string;
  /** What `machineOf` says of an executable for it. */
  readonly machine: string;
  /** Suffix of the file. */
  readonly name: string;
}

/** All of them. */
export const TARGETS: readonly ReleaseTarget[] = [
  {
    target: "x86_64-unknown-linux-gnu",
    machine: "ELF x86_64",
    name: "linux-x64",
  },
  {
    target: "aarch64-unknown-linux-gnu",
    machine: "ELF aarch64",
    name: "linux-arm64",
  },
  {
    target: "x86_64-apple-darwin",
    machine: "Mach-O x86_64",
    name: "macos-x64",
  },
  {
    target: "aarch64-apple-darwin",
    machine: "Mach-O aarch64",
    name: "macos-arm64",
  },
];

const ELF_MAGIC = 0x7f454c46;
const MACH_O_64_MAGIC = 0xfeedfacf;

/** Where the fields are. */
const E_MACHINE_AT = 18;
const CPU_TYPE_AT = 4;

/** The longest head that is looked at, in bytes. */
const HEAD_BYTES_MIN = 20;

const ELF_MACHINES: ReadonlyMap<number, string> = new Map([
  [62, "x86_64"],
  [183, "aarch64"],
]);

const CPU_TYPES: ReadonlyMap<number, string> = new Map([
  [0x01000007, "x86_64"],
  [0x0100000c, "aarch64"],
]);

/** What an executable was made for, from its first bytes. */
export function machineOf(head: Uint8Array): string {
  if (head.length < HEAD_BYTES_MIN) return "no executable";
  const view = new DataView(head.buffer, head.byteOffset, head.length);
  // Both are written with the low byte first on the machines that matter.
  if (view.getUint32(0) === ELF_MAGIC) {
    const machine = view.getUint16(E_MACHINE_AT, true);
    return `ELF ${ELF_MACHINES.get(machine) ?? machine}`;
  }
  if (view.getUint32(0, true) === MACH_O_64_MAGIC) {
    const machine = view.getUint32(CPU_TYPE_AT, true);
    return `Mach-O ${CPU_TYPES.get(machine) ?? machine}`;
  }
  return "no executable";
}
