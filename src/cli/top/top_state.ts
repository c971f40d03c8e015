/**
 * What the person in front of `tryst top` has chosen, and what a key makes of
 * it.
 *
 * Invariant: nothing is asked of the gateway before it was answered with `y`,
 * and that concerns the endpoint that the question named, wherever its row has
 * gone meanwhile.
 *
 * @module
 */
import { SORT_NAMES, type TopSort } from "./top_table.ts";

/** A change of one endpoint. */
export interface TopChange {
  readonly change: "drain" | "restore";
  readonly id: string;
}

/** What is shown of what there is. */
export interface TopState {
  readonly sort: TopSort;
  /** Id of the endpoint that is selected; `undefined` for none yet. */
  readonly selected: string | undefined;
  /** What is asked, and waits for y or n. */
  readonly question: TopChange | undefined;
  /** What came of the last thing, or what is wrong; shown in place of help. */
  readonly notice: string | undefined;
}

/** What a key came to. */
export interface TopStep {
  readonly state: TopState;
  readonly action: "quit" | TopChange | undefined;
}

/** As it opens. */
export const FIRST_STATE: TopState = {
  sort: { column: SORT_NAMES[0] ?? "", isReversed: false },
  selected: undefined,
  question: undefined,
  notice: undefined,
};

/**
 * Takes a key.
 *
 * @param key As `terminal_keys.ts` names it.
 * @param ids The endpoints in the order in which they are shown.
 */
export function pressed(
  state: TopState,
  key: string,
  ids: readonly string[],
): TopStep {
  if (key === "ctrl-c") return { state, action: "quit" };
  if (state.question !== undefined) return answered(state, key, state.question);
  const plain: TopState = { ...state, notice: undefined };
  switch (key) {
    case "q":
      return { state, action: "quit" };
    case "s":
      return still({ ...plain, sort: nextSort(state.sort) });
    case "r": {
      const { column, isReversed } = state.sort;
      return still({ ...plain, sort: { column, isReversed: !isReversed } });
    }
    case "up":
      return still({ ...plain, selected: neighbor(state.selected, ids, -1) });
    case "down":
      return still({ ...plain, selected: neighbor(state.selected, ids, 1) });
    case "d":
      return still(asked(plain, "drain", ids));
    case "u":
      return still(asked(plain, "restore", ids));
    default:
      return still(state);
  }
}

function still(state: TopState): TopStep {
  return { state, action: undefined };
}

function answered(
  state: TopState,
  key: string,
  question: TopChange,
): TopStep {
  const free: TopState = { ...state, question: undefined };
  if (key === "y") return { state: free, action: question };
  // Any other key might be a slip; these are meant.
  return still(key === "n" || key === "escape" || key === "q" ? free : state);
}

function asked(
  state: TopState,
  change: TopChange["change"],
  ids: readonly string[],
): TopState {
  const { selected } = state;
  if (selected === undefined || !ids.includes(selected)) {
    return { ...state, notice: "Select an endpoint with the arrow keys first" };
  }
  return { ...state, question: { change, id: selected } };
}

function nextSort({ column }: TopSort): TopSort {
  const next = (SORT_NAMES.indexOf(column) + 1) % SORT_NAMES.length;
  return { column: SORT_NAMES[next] ?? column, isReversed: false };
}

/** The one a step away, or the first or last; `undefined` where none is. */
function neighbor(
  selected: string | undefined,
  ids: readonly string[],
  step: 1 | -1,
): string | undefined {
  const at = selected === undefined ? -1 : ids.indexOf(selected);
  if (at < 0) return step > 0 ? ids[0] : ids.at(-1);
  return ids[Math.min(Math.max(at + step, 0), ids.length - 1)];
}
