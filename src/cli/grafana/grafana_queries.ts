/**
 * The queries of the Grafana dashboard, in the language of Prometheus.
 *
 * Invariant: each keeps to the instances and endpoints that the dashboard's
 * variables choose.
 *
 * @module
 */

/** One line, or several by a label, of a panel. */
export interface PanelQuery {
  readonly expr: string;
  /** `{{label}}` stands for a label's value. */
  readonly legend: string;
}

/** What queries are written with. */
export const SCOPE = {
  gateway: `{instance=~"$instance"}`,
  endpoint: `{instance=~"$instance",endpoint=~"$endpoint"}`,
  /** Over a time that fits the dashboard's and the scrapes'. */
  rate: "[$__rate_interval]",
} as const;

/** Makes the usual ones. */
export const query = {
  total,
  rate,
  rateBy,
  byEndpoint,
  rateByEndpoint,
  ratio,
  quantile,
  quantiles,
} as const;

function total(name: string, legend: string): PanelQuery {
  return { expr: `sum(${name}${SCOPE.gateway})`, legend };
}

function rate(name: string, legend: string): PanelQuery {
  return { expr: `sum(rate(${name}${SCOPE.gateway}${SCOPE.rate}))`, legend };
}

function rateBy(name: string, label: string): PanelQuery {
  return {
    expr: `sum by (${label}) (rate(${name}${SCOPE.gateway}${SCOPE.rate})) > 0`,
    legend: `{{${label}}}`,
  };
}

function byEndpoint(expr: string, prefix = ""): PanelQuery {
  return { expr, legend: `${prefix}{{endpoint}}` };
}

function rateByEndpoint(name: string): PanelQuery {
  return byEndpoint(
    `sum by (endpoint) (rate(${name}${SCOPE.endpoint}${SCOPE.rate}))`,
  );
}

/** The one by the other, over the same time and by endpoint. */
function ratio(name: string, whole: string): string {
  const of = (one: string) =>
    `sum by (endpoint) (rate(${one}${SCOPE.endpoint}${SCOPE.rate}))`;
  return `${of(name)} / ${of(whole)}`;
}

function quantile(share: number, name: string, label?: string): string {
  const labels = label === undefined ? "le" : `le, ${label}`;
  return `histogram_quantile(${share}, ` +
    `sum by (${labels}) (rate(${name}_bucket${SCOPE.gateway}${SCOPE.rate})))`;
}

function quantiles(name: string): PanelQuery[] {
  return [0.5, 0.95, 0.99].map((share) => ({
    expr: quantile(share, name),
    legend: `${share * 100} of 100`,
  }));
}
