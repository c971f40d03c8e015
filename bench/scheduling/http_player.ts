/**
 * Plays simulated programs over HTTP, in real time divided by a speed.
 *
 * Texts are made so that the engine counts the tokens of the plan: four bytes
 * of text a token, and a history that each later prompt repeats byte by byte.
 *
 * Invariant: what is sent, and after which pause, depends on the programs
 * alone. The only limits are the number of programs and the signal, as an
 * engine may take as long as it likes.
 *
 * @module
 */
import { TOKEN_BYTES } from "../engine/prefix_cache.ts";
import type { PlannedCall, Program } from "../../src/simulate/programs.ts";

/** What to play, and against what. */
export interface HttpPlayOptions {
  readonly programs: readonly Program[];
  /** Base URL without a trailing slash. */
  readonly baseUrl: string;
  /** Divides all times, as that of the engines does. */
  readonly speed: number;
  /** Whether each request says its session. */
  readonly hasSession: boolean;
  readonly signal: AbortSignal;
}

/** What came of a call. */
interface Answered {
  /** The prompt with the answer, as the engine remembers it. */
  readonly text: string;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** What came of all programs. */
export interface HttpPlayResult {
  /** Response of each program, in milliseconds of the simulation. */
  readonly responsesMs: readonly number[];
  readonly calls: number;
  readonly promptTokens: number;
  readonly cachedTokens: number;
}

/** What the simulated engine puts behind an answer. */
const END_MARK = "<|end|>";

/** Plays all programs; rejects as soon as a call fails. */
export async function playOverHttp(
  options: HttpPlayOptions,
): Promise<HttpPlayResult> {
  const { programs, signal, speed } = options;
  const startedAtMs = performance.now();
  const answers: Answered[] = [];
  const responsesMs = await Promise.all(programs.map(async (program) => {
    const arrivesAtMs = startedAtMs + program.arrivesAtMs / speed;
    await pause(arrivesAtMs - performance.now(), signal);
    await playProgram(program, options, answers);
    return (performance.now() - arrivesAtMs) * speed;
  }));
  const sum = (of: (answer: Answered) => number) =>
    answers.reduce((total, answer) => total + of(answer), 0);
  return {
    responsesMs,
    calls: answers.length,
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
  };
}

async function playProgram(
  program: Program,
  options: HttpPlayOptions,
  answers: Answered[],
): Promise<void> {
  const rounds: Answered[][] = [];
  for (const [at, { after, calls, pauseMs }] of program.rounds.entries()) {
    await pause(pauseMs / options.speed, options.signal);
    const history = after && rounds[after.round]?.[after.call];
    const round = await Promise.all(calls.map((call, index) => {
      const mark = `${program.number}.${at}.${index} `;
      const prompt = (history?.text ?? "") + inputText(mark, call);
      return ask(prompt, { call, program, options });
    }));
    rounds.push(round);
    answers.push(...round);
  }
}

async function ask(prompt: string, { call, program, options }: {
  readonly call: PlannedCall;
  readonly program: Program;
  readonly options: HttpPlayOptions;
}): Promise<Answered> {
  const { baseUrl, hasSession, signal } = options;
  const response = await fetch(`${baseUrl}/v1/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(hasSession ? { "x-session-id": `program-${program.number}` } : {}),
    },
    body: JSON.stringify({ prompt, "max_tokens": call.answerTokens }),
    signal,
  });
  const answer = await response.json();
  if (response.status !== 200) {
    throw new Error(
      `Cannot play program ${program.number}: the answer is ` +
        `${response.status} ${JSON.stringify(answer).slice(0, 200)}`,
    );
  }
  const { choices, usage } = answer;
  return {
    text: `${prompt}${choices[0].text}${END_MARK}`,
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
  };
}

/** New input of so many tokens, which begins as no other does. */
function inputText(mark: string, call: PlannedCall): string {
  const bytes = call.inputTokens * TOKEN_BYTES;
  return mark.repeat(Math.ceil(bytes / mark.length)).slice(0, bytes);
}

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const giveUp = () => (clearTimeout(timer), reject(signal.reason));
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", giveUp);
      resolve();
    }, Math.max(0, durationMs));
    signal.addEventListener("abort", giveUp, { once: true });
  });
}
