/** The figures of the rounds as tables. */
import * as names from "../contenders/names.ts";
import { medianOf, quotientOf, type Spread, spreadOf } from "../harness/measure.ts";
import { type Bound, table, verdict, type Verdict, withCommas } from "../harness/results.ts";
import { sellsOut } from "../load/plan.ts";
import type { Round, Row, Setting } from "./rounds.ts";

type Column = readonly [name: string, cellOf: (row: Row) => string];

const rateOf = ({ requestsPerSecond }: Round) => requestsPerSecond;
const median = (of: (round: Round) => number) => (row: Row) =>
  medianOf(row.rounds.map(of)).toFixed(2);
const share = (of: (cpu: NonNullable<Round["cpu"]>) => number) => (row: Row) =>
  row.rounds.every(({ cpu }) => cpu !== null) ? median(({ cpu }) => of(cpu!))(row) : "?";

const COLUMNS: readonly Column[] = [
  ["requests/s", ({ rounds }) => withCommas(medianOf(rounds.map(rateOf)))],
  ["spread", ({ rounds }) => halfRange(rounds.map(rateOf))],
  ["p50 ms", median(({ latencyMs }) => latencyMs.p50)],
  ["p99 ms", median(({ latencyMs }) => latencyMs.p99)],
  ["p99.9 ms", median(({ latencyMs }) => latencyMs.p999)],
  ["server CPU", share(({ server }) => server)],
  ["busiest thread", share(({ busiestThread }) => busiestThread)],
  ["generator CPU", share(({ generator }) => generator)],
  ["other CPU", share(({ others }) => others)],
];
const SELL_OUT_COLUMNS: readonly Column[] = [
  ...COLUMNS,
  ["seconds to sell out", median(({ seconds }) => seconds)],
];

function halfRange(rates: readonly number[]): string {
  const { median: middle, low, high } = spreadOf(rates);
  return `±${Math.round(((high - low) / 2 / middle) * 100)} %`;
}

/** The rows of one setting. */
export function settingTable({ mix, connections }: Setting, rows: readonly Row[]): string {
  const columns = sellsOut(mix) ? SELL_OUT_COLUMNS : COLUMNS;
  const head = [`${mix}, ${connections} connections`, ...columns.map(([name]) => name)];
  const lines = rows
    .filter((row) => row.mix === mix && row.connections === connections)
    .map((row) => [row.name, ...columns.map(([, cellOf]) => cellOf(row))]);
  return table(head, lines);
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

const rate = ({ requestsPerSecond }: Round) => requestsPerSecond;
const LOCK = { mix: "lock", connections: 256, own: names.FRONTROW, of: rate } as const;

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
    .sort((a, b) => medianOf(b.rounds.map(rate)) - medianOf(a.rounds.map(rate)));
  if (own === undefined || other === undefined) return null;
  return quotientOf(own.rounds.map(one.of), other.rounds.map(one.of));
}
