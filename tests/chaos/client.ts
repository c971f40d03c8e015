/**
 * Clients of the chaos: each does one thing after another on a connection that
 * it keeps for as long as it lasts.
 *
 * Invariant: every request that was begun is one record in the journal, and no
 * wait of a client is without a limit.
 *
 * @module
 */
import type { Reply } from "../gateway/reply.ts";
import { type Chance, hashText } from "../simulation/chance.ts";
import { answerProblem } from "./answer_check.ts";
import type { ClientEnd, Journal } from "./journal.ts";
import { drawPlan, drawRequest, type PlannedRequest } from "./plans.ts";
import { runTunnel } from "./tunnel.ts";
import { type Answered, Wire } from "./wire.ts";

/** Pieces of a body that is sent slowly, and the pause between two. */
const PIECES = 8;
const PIECE_PAUSE_MS_MAX = 10;

/** What a client needs. */
export interface ClientOptions {
  readonly port: number;
  readonly name: string;
  readonly chance: Chance;
  readonly journal: Journal;
  /** Longest pause between two requests, in milliseconds. */
  readonly thinkMsMax: number;
  readonly isOver: () => boolean;
}

/** Sends requests until it is over. */
export async function runClient(options: ClientOptions): Promise<void> {
  const { port, name, chance, journal, thinkMsMax, isOver } = options;
  let wire: Wire | undefined;
  try {
    for (let n = 0; !isOver() && !journal.isFull; n++) {
      const plan = drawPlan(chance);
      const request = drawRequest(plan, `${name}-${n}`, chance);
      // A tunnel takes its connection with it.
      if (plan === "tunnel") {
        wire?.close();
        wire = undefined;
      }
      wire ??= await Wire.connect(port);
      const end = await run(wire, request, chance);
      journal.clients.push({
        id: request.id,
        method: request.method,
        plan,
        bodyHash: hashText(request.body),
        end,
      });
      if (end.kind !== "whole") {
        wire.close();
        wire = undefined;
      }
      await pause(chance.between(0, thinkMsMax));
    }
  } finally {
    wire?.close();
  }
}

/** Carries out one plan. */
async function run(
  wire: Wire,
  request: PlannedRequest,
  chance: Chance,
): Promise<ClientEnd> {
  const { head, body, plan } = request;
  switch (plan) {
    case "tunnel":
      return await runTunnel(wire, request, chance);
    case "leave_in_head":
      await wire.send(head.slice(0, chance.between(1, head.length - 2)));
      await pause(chance.below(PIECE_PAUSE_MS_MAX));
      return { kind: "left", where: "in its head" };
    case "leave_in_upload":
      await wire.send(head + body.slice(0, chance.below(body.length - 1)));
      await pause(chance.below(PIECE_PAUSE_MS_MAX));
      return { kind: "left", where: "in its upload" };
    case "leave_waiting":
      await wire.send(head + body);
      await pause(chance.below(PIECE_PAUSE_MS_MAX));
      return { kind: "left", where: "waiting" };
    case "leave_streaming":
      await wire.send(head + body);
      return await leaveAt(wire, request, /"n":[0-9]/, "streaming");
    case "leave_at_end":
      await wire.send(head + body);
      return await leaveAt(wire, request, /\[DONE\]/, "at the last byte");
    case "chunked":
      await wire.send(head);
      await sendChunks(wire, body, chance);
      return await answered(wire, request);
    default:
      await wire.send(head + body);
      return await answered(wire, request);
  }
}

async function sendChunks(
  wire: Wire,
  body: string,
  chance: Chance,
): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let at = 0; at < body.length; at += size) {
    const piece = body.slice(at, at + size);
    await wire.send(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    await pause(chance.below(PIECE_PAUSE_MS_MAX));
  }
  await wire.send("0\r\n\r\n");
}

/** Leaves as soon as `pattern` has come, or with an answer that lacks it. */
async function leaveAt(
  wire: Wire,
  request: PlannedRequest,
  pattern: RegExp,
  where: string,
): Promise<ClientEnd> {
  const end = await answered(wire, request, (text) => pattern.test(text));
  return end.kind === "broken" && pattern.test(wire.received)
    ? { kind: "left", where }
    : end;
}

/** Reads the answer and judges it. */
async function answered(
  wire: Wire,
  request: PlannedRequest,
  isEnough?: (text: string) => boolean,
): Promise<ClientEnd> {
  let answer: Answered;
  try {
    answer = await wire.answer(isEnough);
  } catch (error) {
    return { kind: "wrong", problem: String(error) };
  }
  const { ending, reply } = answer;
  const problem = reply === undefined
    ? undefined
    : answerProblem(request, reply);
  if (problem !== undefined) return { kind: "wrong", problem };
  if (ending === "silence") return { kind: "stuck" };
  if (reply === undefined) return { kind: "broken", where: "head" };
  if (ending === "end") return { kind: "broken", where: "body" };
  return { kind: "whole", status: reply.status, by: authorOf(reply) };
}

function authorOf(reply: Reply): string {
  return reply.headers.get("x-tryst-error") ?? "engine";
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
