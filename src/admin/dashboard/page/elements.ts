/**
 * Parts of the document: finding them, making them, changing their text.
 *
 * Invariant: what came from outside gets into the document as text or as the
 * value of an attribute that holds text, never as markup; and what has not
 * changed is not touched, so that nothing flickers, nothing loses the focus
 * and no screen reader reads it again.
 *
 * @module
 */
/// <reference lib="dom" />

/**
 * The element of the page with an id.
 *
 * @throws {Error} when the page has none of that kind, which is a bug.
 */
export function byId<Kind extends HTMLElement>(
  id: string,
  kind: new () => Kind,
): Kind {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`Cannot find the element "${id}" on the page`);
}

/** A new element with a class or none, with children. */
export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className = "",
  ...children: readonly Node[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.append(...children);
  return element;
}

/** Has an element show a text; nothing happens when it does already. */
export function show(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}
