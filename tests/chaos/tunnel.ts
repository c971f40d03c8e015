/**
 * WebSocket tunnels of the chaos: messages go to an engine and come back, in
 * order, until one side has had enough.
 *
 * Invariant: what comes back is the beginning of what was sent; a close frame,
 * an end of the connection and an error answer are the only ways out.
 *
 * @module
 */
import { frame } from "../gateway/websocket_frames.ts";
import { hello } from "../gateway/websocket_hello.ts";
import type { Chance } from "../simulation/chance.ts";
import { answerProblem } from "./answer_check.ts";
import { FrameReader, OPCODES } from "./frames.ts";
import type { ClientEnd } from "./journal.ts";
import type { PlannedRequest } from "./plans.ts";
import type { Wire } from "./wire.ts";

/** Most messages of one tunnel. */
const MESSAGES_MAX = 12;

/** Opens a tunnel, sends messages, and closes it, or leaves without a word. */
export async function runTunnel(
  wire: Wire,
  request: PlannedRequest,
  chance: Chance,
): Promise<ClientEnd> {
  const count = chance.between(1, MESSAGES_MAX);
  const leaves = chance.oneIn(3);
  await wire.send(hello(request.target, [`x-request-id: ${request.id}`]));
  const refusal = await handshake(wire, request);
  if (refusal !== undefined) return refusal;
  const frames = new FrameReader();
  for (let n = 0; n < count; n++) {
    const payload = `${request.id} ${n} ${"z".repeat(chance.below(2_000))}`;
    await wire.send(frame({ opcode: OPCODES.text, isMasked: true }, payload));
    const end = await echoed(wire, frames, payload);
    if (end !== undefined) return end;
  }
  if (leaves) return { kind: "left", where: "in a tunnel" };
  const goodbye = "\x03\xe8";
  await wire.send(frame({ opcode: OPCODES.close, isMasked: true }, goodbye));
  const end = await echoed(wire, frames, undefined);
  return end ?? { kind: "wrong", problem: "a message follows a close frame" };
}

/** How it ended if there is no tunnel. */
async function handshake(
  wire: Wire,
  request: PlannedRequest,
): Promise<ClientEnd | undefined> {
  while (!wire.received.includes("\r\n\r\n")) {
    const arrival = await wire.receive();
    if (arrival === "silence") return { kind: "stuck" };
    if (arrival === "end") return { kind: "broken", where: "head" };
  }
  if (wire.received.startsWith("HTTP/1.1 101 ")) return undefined;
  const { ending, reply } = await wire.answer();
  if (ending === "silence") return { kind: "stuck" };
  if (reply === undefined) return { kind: "broken", where: "head" };
  const problem = answerProblem(request, reply);
  if (problem !== undefined) return { kind: "wrong", problem };
  if (!reply.isWhole) return { kind: "broken", where: "body" };
  const by = reply.headers.get("x-tryst-error") ?? "engine";
  return { kind: "whole", status: reply.status, by };
}

/** Waits for one message; `undefined` when it is `wanted`. */
async function echoed(
  wire: Wire,
  frames: FrameReader,
  wanted: string | undefined,
): Promise<ClientEnd | undefined> {
  for (;;) {
    const arrival = await wire.receive();
    if (arrival === "silence") return { kind: "stuck" };
    if (arrival === "end") return { kind: "broken", where: "tunnel" };
    for (const { opcode, payload } of frames.push(wire.fresh)) {
      if (opcode === OPCODES.close) return { kind: "closed" };
      if (opcode !== OPCODES.text) continue;
      if (payload === wanted) return undefined;
      return { kind: "wrong", problem: "a message that was not sent comes" };
    }
  }
}
