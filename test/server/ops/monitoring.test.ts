/** Dashboard and alert rules: each metric exists, and each alert has its line in the manual. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { describeWith } from "../../support/programs.ts";
import { startServer, temporaryFolder } from "../../support/server-process.ts";
import { readFamilies } from "./exposition.ts";

const OPS = "server/ops";
const read = (file: string) => readFileSync(`${OPS}/${file}`, "utf8");

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}
const { groups } = parse(read("alerts.yml")) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const RULES = groups.flatMap(({ rules }) => rules);

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string }[];
}
const { panels } = JSON.parse(read("dashboard.json")) as { readonly panels: readonly Panel[] };
const QUERIES = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** The metrics and the labels with their values that an expression names. */
function namesIn(expr: string) {
  const selectors = [...expr.matchAll(/\b([a-z]\w+)(?:\{([^}]*)\})?/g)];
  const metrics = selectors
    .map(([, name]) => name!)
    .filter((name) => /^(frontrow|process|nodejs)_/.test(name));
  const labels = [...expr.matchAll(/\b(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label!);
  return { metrics, labels };
}

test("each metric and label of dashboard, alerts and the page about on-sales exists on a real server", async () => {
  const server = await startServer({ args: ["--demo"] });
  await fetch(`${server.url}/healthz`);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const families = readFamilies(text);
  const known = new Set(families.keys());
  for (const [name, { type }] of families) if (type === "histogram") known.add(`${name}_bucket`);
  const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, label]) => label!));
  // Prometheus adds these two.
  for (const label of ["instance", "job"]) labels.add(label);
  const expressions = [...QUERIES, ...RULES.map(({ expr }) => expr)];
  expect(expressions.length).toBeGreaterThan(50);
  for (const expr of expressions) {
    const { metrics, labels: used } = namesIn(expr);
    expect(metrics.length + Number(expr.startsWith("up{")), expr).toBeGreaterThan(0);
    expect(
      metrics.filter((name) => !known.has(name)),
      expr,
    ).toEqual([]);
    expect(
      used.filter((label) => !labels.has(label)),
      expr,
    ).toEqual([]);
  }
  expect(known.has("frontrow_no_such_metric")).toBe(false);
  const page = readFileSync("server/docs/guide/on-sale.md", "utf8");
  const named = [...page.matchAll(/`((?:frontrow|nodejs)_\w+)`/g)].map(([, name]) => name!);
  expect(named.length).toBeGreaterThan(6);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

describeWith(["promtool"], "promtool", () => {
  /** @param content - Of the file that is the last argument; JSON is YAML. */
  function promtool(args: readonly string[], content?: object) {
    const file = path.join(temporaryFolder(), "input.yml");
    if (content !== undefined) writeFileSync(file, JSON.stringify(content));
    const all = content === undefined ? args : [...args, file];
    const { status, stdout, stderr } = spawnSync("promtool", all, { encoding: "utf8", cwd: OPS });
    return status === 0 ? "accepted" : stdout + stderr;
  }

  test("promtool accepts the configuration, the rules, and every query of the dashboard", () => {
    expect(promtool(["check", "config", "prometheus.yml"])).toBe("accepted");
    const rules = QUERIES.map((expr, i) => ({
      record: `query:${i}`,
      expr: expr.replaceAll("$__rate_interval", "1m"),
    }));
    const asRules = (list: readonly object[]) => ({ groups: [{ name: "x", rules: list }] });
    expect(promtool(["check", "rules"], asRules(rules))).toBe("accepted");
    const wrong = promtool(["check", "rules"], asRules([{ record: "x", expr: "rate(x" }]));
    expect(wrong).toContain("unclosed left parenthesis");
  });

  test("the alerts fire when their condition holds, and not otherwise", () => {
    const cases = [
      ["FrontrowDown", 'up{job="frontrow"}', 1, 0],
      ["FrontrowTakesNoChanges", "frontrow_log_writable", 1, 0],
      ["FrontrowTrailNotWritten", "frontrow_audit_usable", 1, 0],
      ["FrontrowTrailLate", "frontrow_audit_lag_records", 5_000, 2_000_000],
      ["FrontrowStalls", 'nodejs_eventloop_lag_p99_seconds{job="frontrow"}', 0.02, 0.4],
    ] as const;
    const withInstance = (series: string, value: number) => {
      const labelled = series.includes("{")
        ? series.replace("{", '{instance="s",')
        : `${series}{instance="s"}`;
      return { series: labelled, values: `${value}+0x60` };
    };
    const tests = cases.flatMap(([alert, series, good, bad]) =>
      [good, bad].map((value) => ({
        name: `${alert} ${value}`,
        interval: "1m",
        input_series: [withInstance(series, value)],
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
            eval_time: "30m",
            exp_samples: [{ labels: "{}", value: value === bad ? 1 : 0 }],
          },
        ],
      })),
    );
    const rules = `${process.cwd()}/${OPS}/alerts.yml`;
    expect(promtool(["test", "rules"], { rule_files: [rules], tests })).toBe("accepted");
  });
});
