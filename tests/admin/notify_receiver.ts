/**
 * The receiving side of a service manager: a real datagram socket.
 *
 * Invariant: it invents nothing; what it has taken is what was sent.
 *
 * @module
 */

/** Milliseconds until what is waited for must have come. */
const WAIT_MS = 15_000;

/** Receives what is sent to `NOTIFY_SOCKET`. */
export class NotifyReceiver implements AsyncDisposable {
  /** For the variable: a path, or `@` and an abstract name. */
  readonly address: string;
  /** Every message so far, in order. */
  readonly taken: string[] = [];
  /** The path of the socket that sent the latest one. */
  sender = "";
  readonly #socket: Deno.DatagramConn;
  readonly #folder: string;
  readonly #receiving: Promise<void>;
  #notify: () => void = () => {};

  constructor(address: string, folder: string) {
    this.address = address;
    this.#folder = folder;
    const path = address.startsWith("@") ? `\0${address.slice(1)}` : address;
    this.#socket = Deno.listenDatagram({ transport: "unixpacket", path });
    this.#receiving = this.#receive();
  }

  /** Listens on a path of its own, or on the address given. */
  static async listen(address?: string): Promise<NotifyReceiver> {
    const folder = await Deno.makeTempDir();
    try {
      return new NotifyReceiver(address ?? `${folder}/notify`, folder);
    } catch (error) {
      await Deno.remove(folder, { recursive: true });
      throw error;
    }
  }

  /** Waits until so many messages have come; resolves to all of them. */
  async take(count: number): Promise<readonly string[]> {
    await this.#until(() => this.taken.length >= count, `${count} messages`);
    return this.taken;
  }

  /** Waits for a message that matches, from the `from`th on. */
  async until(pattern: RegExp, from = 0): Promise<string> {
    const find = () => this.taken.slice(from).find((it) => pattern.test(it));
    await this.#until(() => find() !== undefined, `${pattern}`);
    return find() ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await this.#receiving;
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #receive(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const [bytes, sender] of this.#socket) {
        if ("path" in sender) this.sender = sender.path;
        this.taken.push(decoder.decode(bytes));
        this.#notify();
      }
    } catch (error) {
      // A socket that is closed while it receives ends in this way.
      if (!(error instanceof Deno.errors.BadResource)) throw error;
    }
  }

  async #until(isSo: () => boolean, what: string): Promise<void> {
    const { promise: over, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () =>
        reject(
          new Error(
            `Cannot wait longer for ${what}: got ${JSON.stringify(this.taken)}`,
          ),
        ),
      WAIT_MS,
    );
    try {
      while (!isSo()) {
        const came = new Promise<void>((resolve) => this.#notify = resolve);
        await Promise.race([came, over]);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
