/**
 * Hears when another thread changes a word of shared memory.
 *
 * Invariant: a change is never missed: the word is read before waiting for it
 * to differ, and the listener is called when it already does. One wait is
 * pending at a time.
 *
 * @module
 */

/** A word that is changed, and notified, to be heard. */
export interface Bell {
  readonly words: Int32Array;
  readonly index: number;
}

/**
 * Calls `onRing` at once, as the word may have changed before, and after each
 * change, or several, until the returned function is called. A pending wait
 * does not keep the process alive.
 */
export function listenTo(bell: Bell, onRing: () => void): () => void {
  const { words, index } = bell;
  let isOn = true;
  const listen = async (): Promise<void> => {
    let seen = Atomics.load(words, index);
    onRing();
    // No limit: nothing may ring for as long as the thread lives.
    while (isOn) {
      const wait = Atomics.waitAsync(words, index, seen);
      if (wait.async) await wait.value;
      seen = Atomics.load(words, index);
      if (isOn) onRing();
    }
  };
  listen();
  return () => {
    isOn = false;
    // Wakes the pending wait, which nothing else might do any more.
    Atomics.notify(words, index);
  };
}
