/** The figures of the rounds as tables: first those of a visitor, last our goals. */
import * as names from "../contenders/names.ts";
import { medianOf, quotientOf, type Spread, spreadOf } from "../harness/measure.ts";
import { type Bound, table, verdict, type Verdict, withCommas } from "../harness/results.ts";
import type { Paint } from "../../server/onsale/terminal.ts";
import { type Mix, sellsOut } from "../load/plan.ts";
import { byRate, terminalChart } from "./charts.ts";
import type { Round, Row, Setting } from "./rounds.ts";

type Column = readonly [name: string, cellOf: (row: Row) => string];

const rateOf = ({ requestsPerSecond }: Round) => requestsPerSecond;
const median = (of: (round: Round) => number) => (row: Row) =>
  medianOf(row.rounds.map(of)).toFixed(2);
const share = (of: (cpu: NonNullable<Round["cpu"]>) => number) => (row: Row) =>
  row.rounds.every(({ cpu }) => cpu !== null) ? median(({ cpu }) => of(cpu!))(row) : "?";

/** Requests of each mix, for those who have not read `load/plan.ts`. */
const REQUESTS: Readonly<Record<Mix, string>> = {
  lock: "two seats are locked, then unlocked",
  direct: "two seats are sold at once, then given back",
  read: "as lock, with nine pages of seats before each change",
  wide: "as lock, all over an event of 50,000 seats",
  "on-sale": "buyers look, lock, hesitate, and buy or give up, until all is sold",
  hot: "everybody wants the same 500 seats, until all are sold",
};

/**
 * The first figures that a visitor asks for, and a chart of them.
 * @param paint - Marks Frontrow's line.
 */
export function settingTable(setting: Setting, rows: readonly Row[], paint: Paint): string {
  const { mix, connections } = setting;
  const played = byRate(rows.filter((row) => row.mix === mix && row.connections === connections));
  const redis = played.find(({ name }) => name === names.REDIS_ALWAYS);
  const columns: readonly Column[] = [
    ["requests/s", ({ rounds }) => withCommas(medianOf(rounds.map(rateOf)))],
    ["p50 ms", median(({ latencyMs }) => latencyMs.p50)],
    ["p99 ms", median(({ latencyMs }) => latencyMs.p99)],
    ...(sellsOut(mix) ? [["sold out, s", median(({ seconds }) => seconds)] as const] : []),
    ...(redis === undefined ? [] : [["÷ Redis", (row: Row) => timesOf(row, redis)] as const]),
  ];
  const head = ["", ...columns.map(([name]) => name)];
  const lines = played.map((row) => [row.name, ...columns.map(([, cellOf]) => cellOf(row))]);
  const chart = terminalChart(setting, rows);
  const shown = `${table(head, lines)}${chart && `\n${chart}`}`.replaceAll(
    new RegExp(`^${names.FRONTROW} .*`, "gm"),
    (line) => paint("bold", line),
  );
  return `${mix}, ${connections} connections: ${REQUESTS[mix]}\n\n${shown}`;
}

function timesOf({ rounds }: Row, base: Row): string {
  return quotientOf(rounds.map(rateOf), base.rounds.map(rateOf)).median.toFixed(2);
}

const DETAILS: readonly Column[] = [
  ["spread", ({ rounds }) => halfRange(rounds.map(rateOf))],
  ["p99.9 ms", median(({ latencyMs }) => latencyMs.p999)],
  ["server CPU", share(({ server }) => server)],
  ["busiest thread", share(({ busiestThread }) => busiestThread)],
  ["generator CPU", share(({ generator }) => generator)],
  ["other CPU", share(({ others }) => others)],
];

/** The limit of each row: range of its rounds, and who used the processors. */
export function detailTable(rows: readonly Row[]): string {
  const head = ["how it was measured", ...DETAILS.map(([name]) => name)];
  const lines = rows.map((row) => {
    const { mix, connections, name } = row;
    return [`${mix}, ${connections}: ${name}`, ...DETAILS.map(([, cellOf]) => cellOf(row))];
  });
  return table(head, lines);
}

function halfRange(rates: readonly number[]): string {
  const { median: middle, low, high } = spreadOf(rates);
  return `±${Math.round(((high - low) / 2 / middle) * 100)} %`;
}

const OTHERS_MAX = 0.1;

/** @returns A warning if other processes used the machine; empty if it was idle otherwise. */
export function disturbanceWarning(rows: readonly Row[]): string {
  const rounds = rows.flatMap((row) => row.rounds);
  const disturbed = rounds.filter(({ cpu }) => cpu !== null && cpu.others > OTHERS_MAX);
  if (disturbed.length === 0) return "";
  const count = `${disturbed.length} of ${rounds.length} rounds`;
  return `Other processes used more than ${OTHERS_MAX} of a processor in ${count}.\n`;
}

// The goals of `npm run bench`. Each is a ratio of two contenders: computed round by round, because
// the two sides of a round were measured within seconds, and judged by the median.

interface Goal extends Setting {
  readonly figure: string;
  readonly bound: Bound;
  /** The contender that is judged. */
  readonly own: string;
  /** Compared with the one of these that has the highest rate. */
  readonly against: readonly string[];
  readonly of: (round: Round) => number;
}

const LOCK = { mix: "lock", connections: 256, own: names.FRONTROW, of: rateOf } as const;

function goal(
  figure: string,
  against: readonly string[],
  bound: Bound,
  special: Partial<Goal> = {},
): Goal {
  return { ...LOCK, figure, against, bound, ...special };
}

const EMPTY = [names.POST_NOT_PARSED];
const IOREDIS = [names.IOREDIS_ALWAYS];
const POSTGRES = [names.POSTGRES_TRANSACTION, names.POSTGRES_FUNCTION];
const P99 = { of: ({ latencyMs }: Round) => latencyMs.p99 };
const HOT = { mix: "hot", of: ({ seconds }: Round) => seconds } as const;
const SNAPSHOT = { mix: "wide", own: names.FRONTROW_SNAPSHOTTING } as const;

const GOALS: readonly Goal[] = [
  goal("lock ÷ POST not parsed", EMPTY, { atLeast: 0.75 }),
  goal("lock ÷ POST not parsed", EMPTY, { atLeast: 0.6 }, { connections: 64 }),
  goal("p99 of the lock ÷ p99 of POST not parsed", EMPTY, { atMost: 1.4 }, P99),
  goal("lock over HTTP ÷ Redis Lua over RESP, always", [names.REDIS_ALWAYS], { atLeast: 1.6 }),
  goal("lock ÷ fastify + ioredis, always", IOREDIS, { atLeast: 5 }),
  goal("lock ÷ fastify + PostgreSQL, its fastest form", POSTGRES, { atLeast: 13 }),
  goal("seconds to sell 500 hot seats ÷ fastify + ioredis", IOREDIS, { atMost: 0.25 }, HOT),
  goal("lock during a snapshot ÷ without", [names.FRONTROW], { atLeast: 0.95 }, SNAPSHOT),
];

export function verdictsOf(rows: readonly Row[]): Verdict[] {
  return GOALS.map((one) => {
    const played = rows.filter(
      ({ mix, connections }) => mix === one.mix && connections === one.connections,
    );
    const figure = `${one.figure}, ${one.connections} connections`;
    return verdict(figure, one.bound, ratioOf(one, played));
  });
}

/** @returns null when one of the two sides was not measured. */
function ratioOf(one: Goal, rows: readonly Row[]): Spread | null {
  const own = rows.find(({ name }) => name === one.own);
  const [other] = rows
    .filter(({ name }) => one.against.includes(name))
    .sort((a, b) => medianOf(b.rounds.map(rateOf)) - medianOf(a.rounds.map(rateOf)));
  if (own === undefined || other === undefined) return null;
  return quotientOf(own.rounds.map(one.of), other.rounds.map(one.of));
}
