/**
 * Chromium, driven by its own protocol (CDP) over one WebSocket.
 *
 * A driver package would bring a browser's worth of code to press a few keys;
 * what the tests need of the protocol is a dozen commands.
 *
 * Invariant: everything that is waited for has a limit, what the page does
 * wrong is kept, and the browser and its profile are gone at the end.
 *
 * @module
 */

/** Where Debian, and others, put it. */
const PLACES: readonly string[] = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Milliseconds for the browser to start on a busy machine. */
const START_MS = 30_000;

/** Milliseconds for anything else. */
const WAIT_MS = 15_000;

/** Milliseconds between two looks at a condition. */
const LOOK_MS = 50;

/** Milliseconds until a browser that was asked to close is killed. */
const CLOSE_MS = 5_000;

type Params = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

interface Waiter {
  resolve(result: Params): void;
  reject(error: Error): void;
}

/** Where the browser is; `undefined` when there is none. */
export async function findBrowser(): Promise<string | undefined> {
  for (const path of PLACES) {
    try {
      await Deno.stat(path);
      return path;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return undefined;
}

/** One page of a browser of its own. */
export class Browser implements AsyncDisposable {
  /** Addresses that the page has asked for. */
  readonly requested: string[] = [];
  /** Errors that the page has logged or thrown, and broken policies. */
  readonly errors: string[] = [];
  readonly #process: Deno.ChildProcess;
  readonly #socket: WebSocket;
  readonly #closed: Promise<void>;
  readonly #profile: string;
  readonly #waiters = new Map<number, Waiter>();
  #lastId = 0;

  constructor(
    process: Deno.ChildProcess,
    socket: WebSocket,
    profile: string,
  ) {
    this.#process = process;
    this.#socket = socket;
    this.#profile = profile;
    socket.onmessage = ({ data }) => this.#take(JSON.parse(data));
    this.#closed = new Promise((resolve) => socket.onclose = () => resolve());
  }

  static async start(path: string): Promise<Browser> {
    const profile = await Deno.makeTempDir({ prefix: "tryst-browser-" });
    const process = new Deno.Command(path, {
      args: [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--js-flags=--expose-gc",
        "--remote-debugging-port=0",
        `--user-data-dir=${profile}`,
        "about:blank",
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const port = await portOf(profile);
    const list = await fetch(`http://127.0.0.1:${port}/json/list`);
    const pages: { type: string; webSocketDebuggerUrl: string }[] = await list
      .json();
    const page = pages.find(({ type }) => type === "page");
    if (page === undefined) throw new Error("Cannot find the browser's page");
    const socket = new WebSocket(page.webSocketDebuggerUrl);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    const browser = new Browser(process, socket, profile);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) {
      await browser.send(`${domain}.enable`);
    }
    return browser;
  }

  /** Sends a command of the protocol. */
  send(method: string, params: Params = {}): Promise<Params> {
    const id = ++this.#lastId;
    const timer = setTimeout(
      () =>
        this.#settle({ id, error: { message: `${method} takes too long` } }),
      WAIT_MS,
    );
    const { promise, resolve, reject } = Promise.withResolvers<Params>();
    this.#waiters.set(id, { resolve, reject });
    this.#socket.send(JSON.stringify({ id, method, params }));
    return promise.finally(() => clearTimeout(timer));
  }

  /** Shows an address in a window of a size, light or dark. */
  async open(
    url: string,
    { width = 1280, height = 900, scheme = "light" } = {},
  ): Promise<void> {
    await this.resize(width, height);
    await this.send("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
    await this.send("Page.navigate", { url });
    await this.until("document.readyState === 'complete'");
  }

  async resize(width: number, height: number): Promise<void> {
    await this.send("Emulation.setDeviceMetricsOverride", {
      width,
      height,
      deviceScaleFactor: 1,
      mobile: width < 600,
    });
  }

  /** The value of an expression in the page; promises are waited for. */
  async evaluate(expression: string): Promise<unknown> {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined) {
      throw new Error(
        `Cannot evaluate ${expression}: ${JSON.stringify(exceptionDetails)}`,
      );
    }
    return Reflect.get(Object(result), "value");
  }

  /** Waits until an expression is true in the page. */
  async until(expression: string, waitMs = WAIT_MS): Promise<void> {
    const deadline = Date.now() + waitMs;
    while (await this.evaluate(`Boolean(${expression})`) !== true) {
      if (Date.now() > deadline) {
        throw new Error(
          `Cannot see ${expression} within ${waitMs} ms; shown: ${await this
            .evaluate("document.body.innerText.slice(0, 3000)")}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  }

  /** Presses a key that is no letter, such as `Tab`. */
  async press(key: string, code: number): Promise<void> {
    const text = key === "Enter" ? "\r" : undefined;
    const event = { key, code: key, windowsVirtualKeyCode: code, text };
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", ...event });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  /** Writes a picture of the page, of its whole length if wanted. */
  async picture(path: string, isWhole = false): Promise<void> {
    const { data } = await this.send("Page.captureScreenshot", {
      captureBeyondViewport: isWhole,
    });
    await Deno.writeFile(path, Uint8Array.fromBase64(String(data)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), CLOSE_MS);
    await this.send("Browser.close").catch(() => {});
    await this.#process.status;
    clearTimeout(timer);
    this.#socket.close();
    await this.#closed;
    await Deno.remove(this.#profile, { recursive: true });
  }

  #take(message: Message): void {
    if (message.id !== undefined) this.#settle(message);
    const { method, params = {} } = message;
    if (method === "Network.requestWillBeSent") {
      this.requested.push(String(Reflect.get(Object(params.request), "url")));
    } else if (method === "Runtime.exceptionThrown") {
      this.errors.push(JSON.stringify(params.exceptionDetails));
    } else if (method === "Log.entryAdded") {
      const { level, text } = Object(params.entry);
      if (level === "error") this.errors.push(String(text));
    } else if (method === "Runtime.consoleAPICalled") {
      if (params.type !== "error" && params.type !== "assert") return;
      this.errors.push(JSON.stringify(params.args));
    }
  }

  #settle({ id = 0, result, error }: Message): void {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    if (error === undefined) waiter?.resolve(result ?? {});
    else waiter?.reject(new Error(`Cannot drive the page: ${error.message}`));
  }
}

/** The port that the browser has written into its profile. */
async function portOf(profile: string): Promise<number> {
  const deadline = Date.now() + START_MS;
  for (;;) {
    try {
      const text = await Deno.readTextFile(`${profile}/DevToolsActivePort`);
      const port = Number(text.split("\n")[0]);
      if (port > 0) return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    if (Date.now() > deadline) throw new Error("Cannot start the browser");
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
