/**
 * Starts the page: what comes from the stream goes to the views, what goes
 * wrong is said.
 *
 * Invariant: what is shown is either of the last seconds or marked as stale.
 *
 * @module
 */
/// <reference lib="dom" />
import type { GatewayStatus, LiveRequest } from "../../status.ts";
import { byId, show } from "./elements.ts";
import { EndpointActions } from "./endpoint_actions.ts";
import { type EndpointMoment, EndpointRow } from "./endpoint_rows.ts";
import { type ErrorTable, Figures } from "./figures.ts";
import { bytes, duration, number } from "./format.ts";
import {
  type FailureMoment,
  failureRow,
  type LevelMoment,
  levelRow,
  liveRow,
} from "./request_rows.ts";
import { Rows } from "./rows.ts";
import { changesBetween } from "./state_changes.ts";
import { followStatus } from "./status_stream.ts";
import { TokenKeeper } from "./token_keeper.ts";
import { verdictOf } from "./verdict.ts";

/** Milliseconds without news after which what is shown is called stale. */
const STALE_MS = 3_000;

/** Milliseconds between two looks at how old the news is. */
const LOOK_MS = 1_000;

const tokens = new TokenKeeper();
const actions = new EndpointActions({ tokens, tell: announce });
const errors: ErrorTable = JSON.parse(
  byId("error_table", HTMLScriptElement).text,
);
const figures = new Figures(errors);
const endpoints = new Rows<EndpointMoment>(byId("endpoint_rows", HTMLElement), {
  key: ({ endpoint }) => endpoint.id,
  create: (moment) =>
    new EndpointRow(moment, (action, endpoint) => {
      actions.run(action, endpoint);
    }),
});
const levels = new Rows<LevelMoment>(byId("level_rows", HTMLElement), {
  key: ({ level }) => String(level.level),
  create: levelRow,
});
const live = new Rows<LiveRequest>(byId("live_rows", HTMLElement), {
  key: ({ id, worker }) => `${worker} ${id}`,
  create: liveRow,
});
const failures = new Rows<FailureMoment>(byId("failure_rows", HTMLElement), {
  key: ({ failure }) => `${failure.atMs} ${failure.id}`,
  create: () => failureRow(errors),
});

let shown: GatewayStatus | undefined;
let shownAt = performance.now();
let trouble = "";

function announce(text: string): void {
  const time = new Date().toLocaleTimeString("en-GB");
  show(byId("notice", HTMLElement), text === "" ? "" : `${time}  ${text}`);
}

function received(status: GatewayStatus): void {
  const changes = shown === undefined ? "" : changesBetween(shown, status);
  if (changes !== "") announce(changes);
  shown = status;
  shownAt = performance.now();
  trouble = "";
  const { nowMs } = status;
  figures.update(status);
  showHeader(status);
  const sessionsTotal = status.endpoints.reduce(
    (sum, { sessions }) => sum + sessions,
    0,
  );
  endpoints.update(status.endpoints.map((endpoint) => ({
    endpoint,
    nowMs,
    sessionsTotal,
  })));
  showQueue(status);
  live.update(status.live);
  showIf("live_none", status.live.length === 0);
  showIf("live_scroll", status.live.length > 0);
  failures.update(status.failures.map((failure) => ({
    failure,
    ageMs: nowMs - failure.atMs,
  })));
  showIf("failures_none", status.failures.length === 0);
  showIf("failures_scroll", status.failures.length > 0);
  look();
}

function showHeader(status: GatewayStatus): void {
  const { sessions, workers } = status;
  show(byId("version", HTMLElement), status.version);
  const upMs = status.nowMs - status.startedAtMs;
  show(byId("up", HTMLElement), duration(upMs, "whole"));
  const ready = byId("ready", HTMLElement);
  show(ready, status.isReady ? "ready" : "not ready");
  ready.dataset.level = status.isReady ? "ok" : "bad";
  const deaths = workers.deaths === 0 ? "" : `, ${workers.deaths} replaced`;
  show(
    byId("workers", HTMLElement),
    `${workers.serving} of ${workers.total}${deaths}`,
  );
  show(
    byId("sessions", HTMLElement),
    `${number(sessions.live)} of ${number(sessions.capacity)}`,
  );
  show(byId("memory", HTMLElement), bytes(status.memoryBytes));
}

function showQueue({ queue }: GatewayStatus): void {
  const fullest = Math.max(1, ...queue.levels.map(({ count }) => count));
  levels.update(queue.levels.map((level) => ({ level, fullest })));
  showIf("queue_none", queue.waiting === 0);
  show(
    byId("queue_summary", HTMLElement),
    queue.waiting === 0
      ? ""
      : `${number(queue.waiting)} waiting, the longest for ${
        duration(queue.longestWaitMs)
      }`,
  );
}

function showIf(id: string, isShown: boolean): void {
  byId(id, HTMLElement).hidden = !isShown;
}

/** Says how old the news is, and what follows from it. */
function look(): void {
  const ageMs = performance.now() - shownAt;
  const isStale = ageMs > STALE_MS || trouble !== "";
  const { body } = document;
  body.dataset.link = isStale ? "stale" : shown === undefined ? "none" : "live";
  const link = byId("link", HTMLElement);
  const verdict = byId("verdict", HTMLElement);
  if (isStale) {
    const age = duration(ageMs, "whole");
    show(link, shown === undefined ? "no data yet" : `stale for ${age}`);
    verdict.dataset.level = "bad";
    const why = trouble === "" ? "nothing has come from it" : trouble;
    const kept = shown === undefined
      ? ""
      : ` What follows is as it was ${age} ago.`;
    show(
      byId("verdict_text", HTMLElement),
      `No word from the gateway: ${why}. Asking again.${kept}`,
    );
  } else if (shown !== undefined) {
    show(link, "live");
    const { level, text } = verdictOf(shown, figures.errorsPerSecond);
    verdict.dataset.level = level;
    show(byId("verdict_text", HTMLElement), text);
  }
  document.title = `${verdict.dataset.level === "ok" ? "" : "! "}Tryst`;
}

function lost(reason: string): void {
  if (trouble === "") announce("The connection to the gateway is lost.");
  trouble = reason;
  look();
}

setInterval(look, LOOK_MS);
followStatus(tokens, { received, lost });
