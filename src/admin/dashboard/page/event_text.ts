/**
 * Reads server-sent events (HTML, 9.2.6) out of the pieces of a stream.
 *
 * The browser's own reader cannot send a token with its request, so the page
 * reads the stream itself. It needs data only: other fields are passed over.
 *
 * Invariant: what is held is at most one event, and an event over the bound
 * is an error, not a leak.
 *
 * @module
 */

/** Characters of one event: some hundred times what 64 endpoints need. */
const EVENT_CHARS_MAX = 8_388_608;

/** Takes text in any pieces and gives the data of whole events. */
export class EventText {
  #rest = "";

  /**
   * @returns The data of each event that `piece` completes.
   * @throws {RangeError} when an event is longer than any should be.
   */
  push(piece: string): string[] {
    const blocks = (this.#rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    this.#rest = blocks.pop() ?? "";
    if (this.#rest.length > EVENT_CHARS_MAX) {
      throw new RangeError(
        `Cannot read an event of over ${EVENT_CHARS_MAX} characters`,
      );
    }
    return blocks.map(dataOf).filter((data) => data !== "");
  }
}

function dataOf(block: string): string {
  return block.split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice("data:".length).replace(/^ /, ""))
    .join("\n");
}
