/**
 * What a process has used, as Linux accounts for it.
 *
 * Invariant: figures cover all threads of the process and nothing else.
 *
 * @module
 */

/** CPU time of all threads of a process so far, in microseconds. */
export function cpuMicroseconds(pid: number): number {
  let nanoseconds = 0;
  for (const { name } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const text = Deno.readTextFileSync(`/proc/${pid}/task/${name}/schedstat`);
    nanoseconds += Number(text.split(" ")[0]);
  }
  return nanoseconds / 1_000;
}

/** Resident memory of a process in bytes. */
export function residentBytes(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return 1_024 * Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1] ?? NaN);
}
