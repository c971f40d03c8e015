/**
 * The dashboard for Grafana: that it can be imported, and asks for nothing
 * that there is not.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { madeUpMetrics } from "../../../tests/admin/metric_families.ts";
import { test } from "../../../tests/leakproof.ts";
import { grafanaCommand, grafanaDashboard } from "../grafana.ts";
import { PANEL_SECTIONS } from "./grafana_panels.ts";

/** A dashboard as far as a test looks at it. */
interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string }[];
  };
  readonly panels: readonly {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: Record<"x" | "y" | "w" | "h", number>;
    readonly datasource?: { readonly uid: string };
    readonly targets?: readonly {
      readonly refId: string;
      readonly expr: string;
    }[];
  }[];
}

/** Words of a query that look like metrics. */
const METRIC = /\b(?:tryst|process)_[a-z0-9_]+/g;

/** Every name that a query may use: of a histogram, those of its lines. */
function knownNames(): Map<string, readonly string[]> {
  const { registry } = madeUpMetrics({ endpointCount: 1, workerCount: 1 });
  const names = new Map<string, readonly string[]>();
  for (const metric of registry.getMetricsAsArray()) {
    const labels = "labelNames" in metric && Array.isArray(metric.labelNames)
      ? metric.labelNames.map(String)
      : [];
    const lines = String(metric.type) === "histogram"
      ? ["_bucket", "_sum", "_count"]
      : [""];
    for (const line of lines) names.set(`${metric.name}${line}`, labels);
  }
  return names;
}

function unknownNames(expr: string): string[] {
  const known = knownNames();
  return [...expr.matchAll(METRIC)].map(([name]) => name)
    .filter((name) => !known.has(name));
}

test("the dashboard names metrics that exist, with labels they have", () => {
  assertEquals(unknownNames("rate(tryst_none_total[1m])"), [
    "tryst_none_total",
  ]);
  assertEquals(unknownNames("tryst_first_byte_seconds"), [
    "tryst_first_byte_seconds",
  ]);
  const known = knownNames();
  for (const { panels } of PANEL_SECTIONS) {
    for (const { queries, title } of panels) {
      assert(queries.length > 0, title);
      for (const { expr, legend } of queries) {
        assertEquals(unknownNames(expr), [], title);
        const named = [...expr.matchAll(METRIC)].map(([name]) => name);
        assert(named.length > 0, title);
        const labels = new Set([
          ...named.flatMap((name) => known.get(name) ?? []),
          "instance",
          "job",
          "le",
        ]);
        const used = [
          ...legend.matchAll(/\{\{(\w+)\}\}/g),
          ...expr.matchAll(/(\w+)(?:=~|!=|=)"/g),
        ].map(([, label]) => label ?? "");
        const grouped = [...expr.matchAll(/by \(([\w, ]+)\)/g)]
          .flatMap(([, list]) => (list ?? "").split(", "));
        for (const label of [...used, ...grouped]) {
          assert(labels.has(label), `${title}: ${label}`);
        }
      }
    }
  }
});

test("the dashboard shows every family of requests and endpoints", () => {
  const text = JSON.stringify(PANEL_SECTIONS);
  for (
    const name of [
      "tryst_requests_total",
      "tryst_affinity_total",
      "tryst_queue_waiting",
      "tryst_endpoint_limit",
      "tryst_engine_waiting_requests",
      "tryst_event_loop_lag_seconds",
    ]
  ) assert(text.includes(name), name);
});

test("the dashboard has the shape of one that Grafana imports", () => {
  const dashboard = JSON.parse(
    JSON.stringify(grafanaDashboard()),
  ) as Dashboard;
  assertMatch(dashboard.uid, /^[a-z0-9-]{1,40}$/);
  assert(dashboard.schemaVersion >= 36 && dashboard.title !== "");
  const { list } = dashboard.templating;
  assertEquals(list.map(({ name }) => name), [
    "datasource",
    "instance",
    "endpoint",
  ]);
  assertEquals(list[0]?.type, "datasource");
  const taken = new Set<string>();
  const ids = new Set(dashboard.panels.map(({ id }) => id));
  assertEquals(ids.size, dashboard.panels.length);
  for (
    const { datasource, gridPos, targets, title, type } of dashboard.panels
  ) {
    assert(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert(!taken.has(`${x} ${y}`), `${title} lies on another`);
        taken.add(`${x} ${y}`);
      }
    }
    if (type === "row") continue;
    assertEquals(datasource?.uid, "${datasource}", title);
    const refs = targets?.map(({ refId }) => refId) ?? [];
    assert(refs.length > 0 && new Set(refs).size === refs.length, title);
    for (const { expr } of targets ?? []) {
      assertEquals(balance(expr, "(", ")"), 0, expr);
      assertEquals(balance(expr, "{", "}"), 0, expr);
      assert(expr.includes("$instance"), expr);
    }
  }
});

function balance(text: string, open: string, close: string): number {
  return text.split(open).length - text.split(close).length;
}

test("tryst grafana prints it", async () => {
  let printed = "";
  const code = await grafanaCommand.run(
    { wantsHelp: false, operand: "", values: new Map(), problems: [] },
    {
      denoVersion: "",
      env: () => undefined,
      readTextFile: () => Promise.reject(new Error("planted")),
      out: (text) => printed += text,
      err: () => {},
    },
  );
  assertEquals(code, 0);
  assertEquals(JSON.parse(printed), grafanaDashboard());
});
