/**
 * The admin token: asked for when the gateway wants it, and kept in memory.
 *
 * Invariant: the token is never stored, never in a URL and never in the
 * document once its dialog is closed; a page that is loaded again asks again.
 *
 * @module
 */
/// <reference lib="dom" />
import { byId, show } from "./elements.ts";

/** Asks for the token, one dialog for all who want it. */
export class TokenKeeper {
  readonly #dialog = byId("token_dialog", HTMLDialogElement);
  readonly #input = byId("token_input", HTMLInputElement);
  readonly #why = byId("token_why", HTMLElement);
  #token: string | undefined;
  #asking: Promise<boolean> | undefined;

  constructor() {
    byId("token_form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#dialog.close("given");
    });
    byId("token_cancel", HTMLButtonElement).addEventListener(
      "click",
      () => this.#dialog.close("cancelled"),
    );
  }

  /** The headers that carry the token, when there is one. */
  headers(): Record<string, string> {
    return this.#token === undefined
      ? {}
      : { authorization: `Bearer ${this.#token}` };
  }

  /** Asks for a token; resolves to whether one was given. */
  ask(): Promise<boolean> {
    this.#asking ??= this.#askOnce().finally(() => this.#asking = undefined);
    return this.#asking;
  }

  async #askOnce(): Promise<boolean> {
    show(
      this.#why,
      this.#token === undefined
        ? "This gateway asks for its admin token."
        : "The gateway does not take this token.",
    );
    this.#input.value = "";
    this.#dialog.returnValue = "";
    // A dialog that waits for an answer makes way: the token comes first.
    this.#dialog.showModal();
    await new Promise<void>((resolve) =>
      this.#dialog.addEventListener("close", () => resolve(), { once: true })
    );
    const given = this.#input.value.trim();
    this.#input.value = "";
    if (this.#dialog.returnValue !== "given" || given === "") return false;
    // A header cannot carry anything else, and a token is nothing else.
    if (!/^[\x21-\x7e]+$/.test(given)) return this.#askOnce();
    this.#token = given;
    return true;
  }
}
