/**
 * Which answers tell what an engine bears.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { test } from "../../tests/leakproof.ts";
import { isGenerating } from "./capacity_evidence.ts";

test("isGenerating() looks at the last segment of the path alone", () => {
  const rows: [target: string, is: boolean][] = [
    ["", false],
    ["/", false],
    ["*", false],
    ["/v1/models", false],
    ["/v1/embeddings", false],
    ["/tokenize", false],
    ["/v1/messages/count_tokens", false],
    ["/v1/completions/", false],
    ["/v1/models?path=/v1/completions", false],
    ["/v1/chat/completionsx", false],
    ["/v1/Completions", false],
    ["/v1/chat/completions", true],
    ["/v1/chat/completions?api-version=/models", true],
    ["/v1/completions", true],
    ["/base/v1/messages", true],
    ["/v1/responses", true],
    ["/generate", true],
    ["/generate_stream", true],
    ["/completion", true],
    ["/infill", true],
  ];
  for (const [target, is] of rows) {
    assertEquals(isGenerating(target), is, target);
  }
});
