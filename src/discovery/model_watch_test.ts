/**
 * Lists of models as engines print them.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { modelIds } from "./model_watch.ts";

test("modelIds() reads a list, and nothing from anything else", () => {
  const rows: [text: string, ids: readonly string[] | undefined][] = [
    ["", undefined],
    ["[]", undefined],
    ["null", undefined],
    ["{}", undefined],
    ['{"data": 1}', undefined],
    ['{"data": []}', undefined],
    ['{"data": [{"name": "x"}]}', undefined],
    ['{"data": [null, {"id": "b"}, {"id": "a"}, {"id": "b"}]}', ["a", "b"]],
    ['{"object": "list", "data": [{"id": "m", "max_model_len": 9}]}', ["m"]],
  ];
  for (const [text, ids] of rows) assertEquals(modelIds(text), ids, text);
});
