/**
 * `tryst grafana`: prints a dashboard for Grafana, to be imported there.
 *
 * The document is what Grafana 10 and later import (its "Dashboard JSON
 * model"): where it is imported, one chooses a Prometheus data source.
 *
 * Invariant: the same version prints the same document, under an id that stays
 * the same, so that importing it again replaces the former one.
 *
 * @module
 */
import project from "../../deno.json" with { type: "json" };
import { type Command, EXIT } from "./command.ts";
import {
  type Panel,
  PANEL_SECTIONS,
  type PanelSection,
} from "./grafana/grafana_panels.ts";

/** The version of the document's schema, which later ones migrate from. */
const SCHEMA_VERSION = 39;

/** The grid is 24 wide: three panels a row, and rows of 8. */
const PANEL = { width: 8, height: 8, perRow: 3 } as const;
const GRID_WIDTH = PANEL.width * PANEL.perRow;

/** Chosen by whoever looks: `templating` below. */
const DATASOURCE = { type: "prometheus", uid: "${datasource}" } as const;

/** The command. */
export const grafanaCommand: Command = {
  name: "grafana",
  summary: "Print a dashboard for Grafana",
  flags: [],
  run(_args, edge) {
    edge.out(JSON.stringify(grafanaDashboard(), undefined, 2));
    return Promise.resolve(EXIT.ok);
  },
};

/** The document. */
export function grafanaDashboard(): Record<string, unknown> {
  return {
    uid: "tryst-gateway",
    title: "Tryst",
    description: `What the gateway and its engines do (${project.version}).`,
    tags: ["tryst", "llm"],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    timezone: "browser",
    templating: { list: variables() },
    panels: panels(),
  };
}

function variables(): unknown[] {
  return [
    {
      name: "datasource",
      label: "Data source",
      type: "datasource",
      query: "prometheus",
      current: {},
    },
    choice("instance", "label_values(tryst_build_info, instance)"),
    choice(
      "endpoint",
      'label_values(tryst_endpoint_state{instance=~"$instance"}, endpoint)',
    ),
  ];
}

/** A variable of several values, all of them at first. */
function choice(name: string, query: string): unknown {
  return {
    name,
    label: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    type: "query",
    datasource: DATASOURCE,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: ".*",
    current: { text: "All", value: "$__all" },
  };
}

/** Sections one below the other, numbered through. */
function panels(): unknown[] {
  const made: unknown[] = [];
  let y = 0;
  for (const section of PANEL_SECTIONS) {
    made.push(sectionRow(section, { id: made.length + 1, y }));
    y += 1;
    section.panels.forEach((panel, index) => {
      const column = index % PANEL.perRow;
      const row = Math.floor(index / PANEL.perRow);
      made.push(chart(panel, {
        id: made.length + 1,
        x: column * PANEL.width,
        y: y + row * PANEL.height,
      }));
    });
    y += Math.ceil(section.panels.length / PANEL.perRow) * PANEL.height;
  }
  return made;
}

function sectionRow(
  { title }: PanelSection,
  { id, y }: { readonly id: number; readonly y: number },
): unknown {
  const gridPos = { x: 0, y, w: GRID_WIDTH, h: 1 };
  return { id, type: "row", title, collapsed: false, gridPos, panels: [] };
}

function chart(
  { doc, isStacked, queries, title, unit }: Panel,
  { id, x, y }: { readonly id: number; readonly x: number; readonly y: number },
): unknown {
  return {
    id,
    type: "timeseries",
    title,
    description: doc,
    datasource: DATASOURCE,
    gridPos: { x, y, w: PANEL.width, h: PANEL.height },
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        custom: {
          fillOpacity: isStacked === true ? 30 : 0,
          stacking: { mode: isStacked === true ? "normal" : "none" },
          showPoints: "never",
        },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      range: true,
    })),
  };
}
