/** The screen of `frontrow status`, from two readings of `/metrics`. */
import type { Paint } from "../onsale/terminal.ts";
import { clusterLines, roleIn } from "./cluster-lines.ts";
import { bytesText, durationText, latencyText, numberText } from "./format.ts";
import type { Interval, Labels, Scrape, Series } from "./scrape.ts";

export interface Shown {
  readonly url: string;
  /** Whether `/readyz` says that the server takes changes. */
  readonly isReady: boolean;
  readonly interval: Interval;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

export interface Paper {
  readonly columns: number;
  readonly paint: Paint;
}

const EVENTS_MAX = 10;
const CODES_MAX = 4;
const COLUMNS_MAX = 120;
const BAR_LENGTH = 20;
const REQUESTS = "frontrow_http_requests_total";
const DURATIONS = "frontrow_http_request_duration_seconds";
const BOOKED = "frontrow_gateway_booking_duration_seconds";
const SERVICE = /^(none|\/|\/(metrics|healthz|readyz|openapi\.json|docs.*))$/;

/** Kinds of requests; each request is of the first kind that takes it. */
const KINDS: readonly (readonly [name: string, takes: (labels: Labels) => boolean])[] = [
  ["bookings", ({ method, route = "" }) => method === "POST" && route.includes("/booking/")],
  ["service", ({ route = "" }) => SERVICE.test(route)],
  ["reads", ({ method }) => method === "GET" || method === "HEAD"],
  ["other changes", () => true],
];

const HEADING = row("REQUESTS", ["rate", "p50", "p99"]);

export function screenOf(shown: Shown, paper: Paper): string {
  const { paint } = paper;
  const columns = Math.min(paper.columns, COLUMNS_MAX);
  const { interval } = shown;
  const cluster = clusterLines(interval.after, paint);
  const sections = {
    [Kind.ENGINE]: () => [
      ["", paint("bold", HEADING), ...requestLines(interval)],
      ["", paint("bold", "STORE"), ...storeLines(shown, paper)],
      cluster,
      ["", ...eventLines(interval, { columns, paint })],
    ],
    [Kind.STANDBY]: () => [cluster],
    [Kind.GATEWAY]: () => [gatewayLines(interval, paint)],
  };
  const lines = [headOf(shown, paper), ...sections[kindOf(interval.after)]()];
  return `${lines.flat().join("\n")}\n`;
}

function headOf({ url, isReady, interval, nowMs }: Shown, { paint }: Paper): string[] {
  const { after } = interval;
  const kind = kindOf(after);
  const { version, node } = after.series("frontrow_build_info")[0]?.labels ?? {};
  const upSeconds = nowMs / 1_000 - after.sum("process_start_time_seconds");
  const ready = isReady ? paint("green", "READY") : paint("red", "NOT READY");
  const name = ["frontrow", ...(kind === Kind.GATEWAY ? ["gateway"] : []), version ?? ""];
  const parts = [
    paint("bold", name.join(" ").trim()),
    url,
    // A host that follows takes no requests, and is well.
    kind === Kind.STANDBY ? roleIn(after).toUpperCase() : ready,
    `up ${durationText(upSeconds)}`,
    ...(node === undefined ? [] : [`Node ${node}`]),
  ];
  return [parts.join("  ")];
}

/** What answers, by the metrics that it has. */
const Kind = { ENGINE: "engine", STANDBY: "standby", GATEWAY: "gateway" } as const;
type Kind = (typeof Kind)[keyof typeof Kind];

function kindOf(after: Scrape): Kind {
  if (after.has("frontrow_gateway_link_open")) return Kind.GATEWAY;
  return after.has("frontrow_sequence") ? Kind.ENGINE : Kind.STANDBY;
}

function gatewayLines(interval: Interval, paint: Paint): string[] {
  const { after } = interval;
  const value = (name: string) => after.sum(`frontrow_gateway_${name}`);
  const rate = (name: string) => numberText(interval.rate(`frontrow_gateway_${name}`));
  const [p50, p99] = [0.5, 0.99].map((share) => interval.quantile(BOOKED, share));
  const link = value("link_open") === 1 ? "open" : paint("red", "NOT OPEN");
  return [
    "",
    paint("bold", HEADING),
    row("  bookings", [`${rate("bookings_total")}/s`, latencyText(p50!), latencyText(p99!)]),
    row("  passed on", [`${rate("passed_total")}/s`]),
    `  ${numberText(value("waiting_requests") + value("passing_requests"))} in flight, ` +
      `${numberText(value("http_connections"))} connections`,
    "",
    paint("bold", "ENGINE"),
    `  link       ${link}`,
    `  lost       ${numberText(value("bookings_lost_total"))} bookings without an answer`,
    `  memory     ${bytesText(after.sum("process_resident_memory_bytes"))} in all, ` +
      `${bytesText(after.sum("nodejs_heap_size_used_bytes"))} heap`,
  ];
}

function requestLines(interval: Interval): string[] {
  const { after } = interval;
  const value = (name: string) => numberText(after.sum(`frontrow_${name}`));
  const rows = KINDS.map(([name, takes], i) => {
    const isOfKind = (labels: Labels) =>
      takes(labels) && !KINDS.slice(0, i).some(([, earlier]) => earlier(labels));
    const [p50, p99] = [0.5, 0.99].map((q) => interval.quantile(DURATIONS, q, isOfKind));
    const rate = numberText(interval.rate(REQUESTS, isOfKind));
    return row(`  ${name}`, [`${rate}/s`, latencyText(p50!), latencyText(p99!)]);
  });
  return [
    ...rows,
    row("  refused", [`${numberText(interval.rate("frontrow_refusals_total"))}/s`]) +
      codes(interval),
    `  ${value("http_requests_in_flight")} in flight, ${value("http_connections")} of ` +
      `${value("http_connections_max")} connections`,
  ];
}

function row(name: string, cells: readonly string[]): string {
  return `${name.padEnd(16)}${cells.map((cell) => cell.padStart(12)).join("")}`.trimEnd();
}

/** The most frequent error codes. */
function codes(interval: Interval): string {
  const rates = interval.after
    .series("frontrow_refusals_total")
    .map(({ labels: { code = "" } }) => {
      return {
        code,
        rate: interval.rate("frontrow_refusals_total", (labels) => labels["code"] === code),
      };
    })
    .filter(({ rate }) => rate > 0)
    .sort((a, b) => b.rate - a.rate);
  return rates
    .slice(0, CODES_MAX)
    .map(({ code, rate }) => `\n    ${code.padEnd(24)}${`${numberText(rate)}/s`.padStart(12)}`)
    .join("");
}

function storeLines({ interval, nowMs }: Shown, { paint }: Paper): string[] {
  const { after } = interval;
  const value = (name: string) => after.sum(`frontrow_${name}`);
  const times = (name: string) => {
    const [p50, p99] = [0.5, 0.99].map((share) => interval.quantile(`frontrow_${name}`, share));
    return `p50 ${latencyText(p50!)}, p99 ${latencyText(p99!)}`;
  };
  const warn = (isGood: boolean, text: string) => (isGood ? "" : `, ${paint("red", text)}`);
  const lag = value("audit_lag_records");
  const bytes = (name: string) => bytesText(after.sum(name));
  const snapshotAt = value("snapshot_last_success_timestamp_seconds");
  const snapshotSize = value("snapshot_bytes");
  return [
    `  log        record ${numberText(value("sequence"))}, ` +
      `${bytesText(interval.rate("frontrow_log_bytes_total"))}/s, ` +
      `${bytes("frontrow_log_bytes_total")} since the start` +
      warn(value("log_writable") === 1, "TAKES NO CHANGES"),
    `  sync       ${times("log_sync_duration_seconds")}`,
    `  commit     ${times("log_commit_duration_seconds")}`,
    `  snapshot   ${snapshotText(snapshotAt, nowMs)}` +
      (snapshotSize > 0 ? `, ${bytesText(snapshotSize)}` : "") +
      warn(after.sum("frontrow_snapshots_total", isFailed) === 0, "SOME FAILED"),
    `  trail      ${numberText(lag)} records behind` +
      warn(value("audit_usable") === 1, "CANNOT BE WRITTEN"),
    `  holds      ${numberText(value("holds"))}`,
    `  memory     ${bytes("process_resident_memory_bytes")} in all, ` +
      `${bytes("nodejs_heap_size_used_bytes")} heap`,
  ];
}

function isFailed({ result }: Labels): boolean {
  return result === "failed";
}

function snapshotText(atSeconds: number, nowMs: number): string {
  if (atSeconds === 0) return "none since the start";
  return `${durationText(nowMs / 1_000 - atSeconds)} ago`;
}

interface Fullness {
  readonly name: string;
  readonly active: number;
  readonly locked: number;
  readonly sold: number;
  readonly total: number;
  /** Of what may be sold, the part that is held or sold. */
  readonly share: number;
}

function eventLines({ after }: Interval, { columns, paint }: Paper): string[] {
  const places = after.series("frontrow_event_places");
  const events = after
    .series("frontrow_event_info")
    .map(({ labels }) => fullnessOf(labels, places))
    .sort((a, b) => b.share - a.share || b.total - a.total);
  const nameLength = columns - 2 - BAR_LENGTH - 6 - 3 * 10;
  const numbers = (texts: readonly string[]) => texts.map((text) => text.padStart(10)).join("");
  const title = "EVENTS BY HOW FULL".padEnd(nameLength + 2 + BAR_LENGTH + 6);
  const lines = events.slice(0, EVENTS_MAX).map(({ name, share, sold, locked, active }) => {
    const filled = Math.round(share * BAR_LENGTH);
    const bar = "█".repeat(filled) + "░".repeat(BAR_LENGTH - filled);
    const percent = `${Math.floor(share * 100)} %`.padStart(6);
    const counts = numbers([sold, locked, active].map(numberText));
    return `  ${fitted(name, nameLength)}${bar}${percent}${counts}`;
  });
  const rest = after.sum("frontrow_events") - Math.min(events.length, EVENTS_MAX);
  return [
    paint("bold", title) + numbers(["sold", "held", "free"]),
    ...lines,
    ...(rest > 0 ? [`  and ${numberText(rest)} more`] : []),
  ];
}

function fullnessOf(info: Labels, places: readonly Series[]): Fullness {
  const count = (state: string) =>
    places.find(({ labels }) => labels["event"] === info["event"] && labels["state"] === state)
      ?.value ?? 0;
  const [active, locked, sold] = [count("active"), count("locked"), count("sold")];
  const total = active + locked + sold;
  const share = total === 0 ? 0 : (locked + sold) / total;
  return { name: info["name"] ?? "", active, locked, sold, total, share };
}

/** Control characters in a name must not reach the terminal. */
function fitted(name: string, length: number): string {
  const clean = name.replaceAll(/\p{C}/gu, " ");
  const isLong = clean.length > length - 1;
  return (isLong ? `${clean.slice(0, length - 2)}…` : clean).padEnd(length);
}
