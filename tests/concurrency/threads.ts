/**
 * Threads that begin at once, each with a task of its own, and report.
 *
 * Invariant: a thread is ended when it has reported or failed, so nothing is
 * left running when `runThreads` has settled.
 *
 * @module
 */

/** What every task has. */
export interface ThreadTask {
  /** One word that counts threads at the start. */
  readonly gate: SharedArrayBuffer;
  readonly threads: number;
  /** 1 and up; another for each thread. */
  readonly seed: number;
}

/**
 * Runs the module `name` of this folder in `task.threads` threads to their end
 * and returns their reports. The module MUST answer through `answerTasks`.
 */
export async function runThreads<Task extends ThreadTask, Report>(
  name: string,
  task: Omit<Task, "gate" | "seed">,
): Promise<Report[]> {
  const gate = new SharedArrayBuffer(4);
  const url = new URL(name, import.meta.url);
  const reports = Array.from({ length: task.threads }, (_, index) => {
    const worker = new Worker(url, { type: "module" });
    const { port1, port2 } = new MessageChannel();
    return new Promise<Report>((resolve, reject) => {
      port1.onmessage = ({ data }: MessageEvent<Report>) => resolve(data);
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(`Cannot run "${name}": ${event.message}`));
      };
      const own = { ...task, gate, seed: index + 1 };
      worker.postMessage({ task: own, port: port2 }, [port2]);
    }).finally(() => {
      port1.close();
      worker.terminate();
    });
  });
  return await Promise.all(reports);
}

/** Has this thread do the tasks that `runThreads` sends. */
export function answerTasks<Task extends ThreadTask, Report>(
  work: (task: Task) => Report,
): void {
  // The port in the task answers: the type checker knows a worker's own global
  // scope only where no other scope is in the program.
  addEventListener("message", (event) => {
    if (!(event instanceof MessageEvent)) return;
    const { task, port }: { task: Task; port: MessagePort } = event.data;
    port.postMessage(work(task));
  });
}

/** Lets all threads begin at once: starting one takes longer than its work. */
export function waitForAll(task: ThreadTask): void {
  const gate = new Int32Array(task.gate);
  Atomics.add(gate, 0, 1);
  Atomics.notify(gate, 0);
  for (
    let count = Atomics.load(gate, 0);
    count < task.threads;
    count = Atomics.load(gate, 0)
  ) {
    // 10 s: a thread that has not come up by then never will.
    if (Atomics.wait(gate, 0, count, 10_000) === "timed-out") break;
  }
}
