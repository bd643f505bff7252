/** Reads a server's `/metrics` twice, and shows what happened meanwhile. */
import { setInterval } from "node:timers/promises";
import { visible } from "../../engine/names.ts";
import { type Paint, paintFor } from "../onsale/terminal.ts";

export interface StatusFlags {
  readonly url: string;
  readonly token?: string;
  readonly watch?: boolean;
}

/** Time between two readings. Shorter would show the same text twice: the server keeps it. */
const INTERVAL_MS = 2_000;
const TIMEOUT_MS = 10_000;
const PLAIN_COLUMNS = 80;
const CLEAR = "\u001B[H\u001B[J";

/** Shows it once, or until interrupted. @throws Error when the server does not answer. */
export async function status({ url: given, token, watch = false }: StatusFlags): Promise<void> {
  const url = given.replace(/\/+$/, "");
  let before = await takeScrape(url, token);
  for await (const _ of setInterval(INTERVAL_MS)) {
    try {
      const [after, ready] = await Promise.all([takeScrape(url, token), askReady(url)]);
      show(
        { url, isReady: ready, interval: new Interval(before, after), nowMs: Date.now() },
        watch,
      );
      before = after;
    } catch (error) {
      if (!watch) throw error;
      // It may be restarting.
      process.stdout.write(`${(error as Error).message}\n`);
    }
    if (!watch) return;
  }
}

function show(shown: Shown, isRepeated: boolean): void {
  const { isTTY, columns } = process.stdout;
  const paper = { columns: isTTY ? columns : PLAIN_COLUMNS, paint: paintFor(process.stdout) };
  process.stdout.write((isRepeated && isTTY ? CLEAR : "") + screenOf(shown, paper));
}

async function takeScrape(url: string, token: string | undefined): Promise<Scrape> {
  const headers: Readonly<Record<string, string>> =
    token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const answer = await get(`${url}/metrics`, headers);
  if (answer.status === 403) throw new Error(`${url}/metrics needs the right --token`);
  if (!answer.ok) throw new Error(`${url}/metrics answers ${answer.status}`);
  return new Scrape(await answer.text(), performance.now());
}

async function askReady(url: string): Promise<boolean> {
  return (await get(`${url}/readyz`, {})).ok;
}

async function get(target: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  try {
    return await fetch(target, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? cause.message : message;
    throw new Error(`no answer from ${target}: ${reason}`, { cause: error });
  }
}

// The section of `frontrow status` about the cluster that a host belongs to.

const NAME_LENGTH = 11;

/** @returns No lines for a server that is not a host of a cluster. */
export function clusterLines(scrape: Scrape, paint: Paint): string[] {
  const info = scrape.series("frontrow_cluster_info")[0]?.labels;
  if (info === undefined) return [];
  const value = (name: string) => scrape.sum(`frontrow_cluster_${name}`);
  const hosts = scrape.series("frontrow_cluster_host_sequence");
  const newest = Math.max(0, ...hosts.map((host) => host.value));
  const line = (name: string, text: string) => `  ${name.padEnd(NAME_LENGTH)}${text}`;
  const majority = value("etcd_has_leader") === 1 ? "has a leader" : paint("red", "HAS NO LEADER");
  const etcd =
    value("etcd_up") === 0
      ? paint("red", "DOES NOT ANSWER")
      : `${bytesText(value("etcd_database_bytes"))}, ${majority}`;
  const alarms = value("etcd_alarms") > 0 ? `, ${paint("red", "HAS ALARMS")}` : "";
  const lag = value("lag_seconds");
  const retained = value("retained_bytes");
  return [
    "",
    paint("bold", "CLUSTER"),
    line("cell", `${info["cell"]}, this is ${info["host"]}, ${roleIn(scrape)}`),
    line("leader", info["leader"] === "" ? "none" : `${info["leader"]}, ${info["leader_address"]}`),
    ...hosts.map(({ labels, value: sequence }) => {
      const behind = sequence < newest ? `, ${numberText(newest - sequence)} behind` : "";
      return line(
        labels["host"] ?? "",
        `${labels["role"]}, record ${numberText(sequence)}${behind}`,
      );
    }),
    ...(lag > 0 ? [line("lag", durationText(lag))] : []),
    line("etcd", `${etcd}${alarms}`),
    // Only the leader knows it.
    ...(retained > 0 ? [line("in etcd", bytesText(retained))] : []),
  ];
}

/** The role of a host, as it says. */
function roleIn(scrape: Scrape): string {
  const role = scrape.series("frontrow_cluster_role").find((series) => series.value === 1);
  return role?.labels["role"] ?? "?";
}

// Numbers as a person reads them, in few characters.

const KIBIBYTE = 1_024;
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `1,234`, with one decimal below 10. */
export function numberText(value: number): string {
  const isSmall = value > 0 && value < 9.95;
  const digits = isSmall && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

export function bytesText(bytes: number): string {
  const unit = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log(bytes) / Math.log(KIBIBYTE)));
  return `${numberText(bytes / KIBIBYTE ** unit)} ${BYTE_UNITS[unit]}`;
}

/** A latency; a dash when there was none. */
export function latencyText(seconds: number | null): string {
  if (seconds === null) return "-";
  return seconds < 1 ? `${(seconds * 1_000).toFixed(1)} ms` : `${seconds.toFixed(1)} s`;
}

/** `3 d 4 h`, `5 min`, `12 s`. */
export function durationText(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} min`;
  if (whole < DAY)
    return `${Math.floor(whole / HOUR)} h ${Math.floor((whole % HOUR) / MINUTE)} min`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

// The screen of `frontrow status`, from two readings of `/metrics`.

interface Shown {
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
  const isUsable = value("audit_usable") === 1;
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
    `  trail      ${numberText(lag)} records to archive` +
      (isUsable && lag > 0 && lag < ARCHIVED_LATE ? ", as is normal" : "") +
      warn(isUsable, "CANNOT BE WRITTEN"),
    `  holds      ${numberText(value("holds"))}`,
    `  memory     ${bytes("process_resident_memory_bytes")} in all, ` +
      `${bytes("nodejs_heap_size_used_bytes")} heap`,
  ];
}

/** Of the alert FrontrowTrailLate. */
const ARCHIVED_LATE = 1_000_000;

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

// One reading of `/metrics`: the Prometheus text as numbers.

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly value: number;
}

/** A histogram between two readings: how many values were at most as large as each bound. */
export interface Bucket {
  readonly bound: number;
  readonly atMost: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const UNESCAPED: Readonly<Record<string, string>> = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

export class Scrape {
  readonly atMs: number;
  readonly #series = new Map<string, Series[]>();

  /** @param atMs - When the text was read, on any clock. */
  constructor(text: string, atMs: number) {
    this.atMs = atMs;
    for (const line of text.split("\n")) {
      const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
      if (name === undefined) continue;
      const series = this.#series.get(name) ?? [];
      series.push({ labels: labelsIn(visible(labels)), value: Number(value) });
      this.#series.set(name, series);
    }
  }

  series(name: string): readonly Series[] {
    return this.#series.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#series.has(name);
  }

  /** The sum over all series with these labels; 0 when there are none. */
  sum(name: string, isWanted: (labels: Labels) => boolean = () => true): number {
    return this.series(name)
      .filter(({ labels }) => isWanted(labels))
      .reduce((sum, { value }) => sum + value, 0);
  }
}

function labelsIn(text: string): Labels {
  const labels = [...text.matchAll(LABEL)].map(([, name, value]) => [
    name,
    value!.replaceAll(/\\[\\"n]/g, (escape) => UNESCAPED[escape]!),
  ]);
  return Object.fromEntries(labels) as Labels;
}

/** What happened between two readings. */
export class Interval {
  readonly before: Scrape;
  readonly after: Scrape;
  readonly #seconds: number;

  constructor(before: Scrape, after: Scrape) {
    this.before = before;
    this.after = after;
    this.#seconds = Math.max(0.001, (after.atMs - before.atMs) / 1_000);
  }

  /** How fast a counter grew, per second. A restart of the server counts as no growth. */
  rate(name: string, isWanted?: (labels: Labels) => boolean): number {
    const grown = this.after.sum(name, isWanted) - this.before.sum(name, isWanted);
    return Math.max(0, grown) / this.#seconds;
  }

  /** @returns A quantile of a histogram, estimated within its bucket; null when it had no value. */
  quantile(name: string, share: number, isWanted: (labels: Labels) => boolean = () => true) {
    const buckets = this.#buckets(`${name}_bucket`, isWanted);
    const total = buckets.at(-1)?.atMost ?? 0;
    if (total <= 0) return null;
    const rank = share * total;
    const index = buckets.findIndex(({ atMost }) => atMost >= rank);
    const { bound, atMost } = buckets[index]!;
    const below = buckets[index - 1] ?? { bound: 0, atMost: 0 };
    // The last bucket has no upper bound.
    if (bound === Infinity) return below.bound;
    return below.bound + ((bound - below.bound) * (rank - below.atMost)) / (atMost - below.atMost);
  }

  #buckets(name: string, isWanted: (labels: Labels) => boolean): Bucket[] {
    const counts = new Map<number, number>();
    for (const [scrape, sign] of [[this.after, 1] as const, [this.before, -1] as const]) {
      for (const { labels, value } of scrape.series(name)) {
        if (!isWanted(labels)) continue;
        const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
        counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
      }
    }
    return [...counts].map(([bound, atMost]) => ({ bound, atMost })).sort(byBound);
  }
}

function byBound(a: Bucket, b: Bucket): number {
  return a.bound - b.bound;
}
