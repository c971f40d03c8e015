/**
 * The real worker, with a second ear: it dies or hangs when it is told to.
 *
 * @module
 */
import "../../src/wiring/worker.ts";

globalThis.addEventListener("message", (event) => {
  if (!(event instanceof MessageEvent)) return;
  if (event.data.kind === "crash") {
    // Out of the listener, as an error that nobody expected.
    setTimeout(() => {
      throw new Error("planted");
    }, 0);
  }
  if (event.data.kind === "hang") { for (;;); }
});
