/**
 * Draining and restoring an endpoint, after a question.
 *
 * Invariant: nothing is sent without a yes to a question that names the
 * endpoint and says what will happen, and every outcome is told.
 *
 * @module
 */
/// <reference lib="dom" />
import type { EndpointView } from "../../status.ts";
import { byId, show } from "./elements.ts";
import { number } from "./format.ts";
import type { TokenKeeper } from "./token_keeper.ts";

/** What can be done. */
export type Action = "drain" | "restore";

/** What the actions need. */
export interface ActionParts {
  readonly tokens: TokenKeeper;
  /** Tells the outcome. */
  readonly tell: (text: string) => void;
}

/** Milliseconds for an answer: the admin side does nothing slow. */
const ANSWER_MS_MAX = 10_000;

const DONE: Readonly<Record<Action, string>> = {
  drain: "is told to drain",
  restore: "is told to take work again",
};

/** Asks and does. */
export class EndpointActions {
  readonly #parts: ActionParts;
  readonly #dialog = byId("confirm_dialog", HTMLDialogElement);
  readonly #title = byId("confirm_title", HTMLElement);
  readonly #text = byId("confirm_text", HTMLElement);
  readonly #yes = byId("confirm_yes", HTMLButtonElement);

  constructor(parts: ActionParts) {
    this.#parts = parts;
    this.#yes.addEventListener("click", () => this.#dialog.close("yes"));
    byId("confirm_no", HTMLButtonElement).addEventListener(
      "click",
      () => this.#dialog.close("no"),
    );
  }

  /** Does `action` when the user says so; never rejects. */
  async run(action: Action, endpoint: EndpointView): Promise<void> {
    if (this.#dialog.open || !await this.#confirm(action, endpoint)) return;
    try {
      await this.#send(action, endpoint.id);
    } catch {
      this.#parts.tell(
        `Cannot ${action} ${endpoint.id}: the gateway cannot be reached`,
      );
    }
  }

  async #confirm(action: Action, endpoint: EndpointView): Promise<boolean> {
    const isDrain = action === "drain";
    const name = isDrain ? "Drain" : "Restore";
    show(this.#title, `${name} ${endpoint.id}?`);
    show(this.#text, isDrain ? drainText(endpoint) : RESTORE_TEXT);
    show(this.#yes, name);
    this.#dialog.returnValue = "";
    this.#dialog.showModal();
    await new Promise<void>((resolve) =>
      this.#dialog.addEventListener("close", () => resolve(), { once: true })
    );
    return this.#dialog.returnValue === "yes";
  }

  async #send(action: Action, id: string): Promise<void> {
    const { tokens, tell } = this.#parts;
    for (;;) {
      const response = await fetch(`/endpoints/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...tokens.headers() },
        body: JSON.stringify({ id }),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      if (response.status === 401) {
        if (await tokens.ask()) continue;
        tell(`Did not ${action} ${id}: no token was given`);
        return;
      }
      if (response.ok) tell(`${id} ${DONE[action]}`);
      else tell(`Cannot ${action} ${id}: ${await detailOf(response)}`);
      return;
    }
  }
}

const RESTORE_TEXT =
  "It takes new sessions again as soon as a probe finds it well. Sessions " +
  "that moved away stay where they are now.";

function drainText({ inFlight, sessions }: EndpointView): string {
  const requests = inFlight === 1
    ? "its request in flight"
    : `its ${number(inFlight)} requests in flight`;
  const finishes = inFlight === 0
    ? "It takes no more work."
    : `It finishes ${requests} and takes no more.`;
  const moves = sessions === 0
    ? "No live session is bound to it."
    : `Of its ${number(sessions)} live sessions, those that go on move to ` +
      "other endpoints and lose their cache.";
  return `${finishes} ${moves}`;
}

async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch {
    // A proxy in between may answer with something else.
  }
  return `the gateway answered ${response.status}`;
}
