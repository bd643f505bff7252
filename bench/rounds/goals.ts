/**
 * What the figures must reach. Each is a ratio within one run: round by round, since the two sides
 * of a round were measured seconds apart, then the median.
 */
import { POST_NOT_PARSED } from "../contenders/empties.ts";
import type { Mix } from "../load/plan.ts";
import { type Bound, verdict, type Verdict } from "./results.ts";
import type { Round, Row } from "./rounds.ts";
import { type Spread, spreadOf } from "./statistics.ts";

export const FRONTROW = "Frontrow, durable";
export const FRONTROW_SNAPSHOTTING = "Frontrow, always in a snapshot";
export const REDIS_ALWAYS = "Redis Lua over RESP, appendfsync always";
export const REDIS_EVERYSEC = "Redis Lua over RESP, appendfsync everysec";
export const IOREDIS_ALWAYS = "fastify + ioredis (Lua), appendfsync always";
export const POSTGRES_TRANSACTION = "fastify + PostgreSQL, one transaction";
export const POSTGRES_FUNCTION = "fastify + PostgreSQL, one function";
export const SQLITE_FULL = "fastify + better-sqlite3, synchronous FULL";

interface Goal extends Bound {
  readonly figure: string;
  /** Whose figure it is, where it is not Frontrow's as it is out of the box. */
  readonly own?: string;
  readonly mix: Mix;
  readonly connections: number;
  /** Against the one of these with the highest rate. */
  readonly against: readonly string[];
  readonly of: (round: Round) => number;
}

const rate = ({ requestsPerSecond }: Round) => requestsPerSecond;
const p99 = ({ latencyMs }: Round) => latencyMs.p99;
const seconds = (round: Round) => round.seconds;

const AGAINST_EMPTY = { mix: "lock", against: [POST_NOT_PARSED.name] } as const;
const AT_256 = { mix: "lock", connections: 256, of: rate } as const;
const POSTGRES = [POSTGRES_TRANSACTION, POSTGRES_FUNCTION];

const GOALS: readonly Goal[] = [
  {
    ...AGAINST_EMPTY,
    figure: "lock ÷ POST not parsed, 256 connections",
    connections: 256,
    of: rate,
    atLeast: 0.75,
  },
  {
    ...AGAINST_EMPTY,
    figure: "lock ÷ POST not parsed, 64 connections",
    connections: 64,
    of: rate,
    atLeast: 0.6,
  },
  {
    ...AGAINST_EMPTY,
    figure: "p99 of the lock ÷ p99 of POST not parsed, 256 connections",
    connections: 256,
    of: p99,
    atMost: 1.4,
  },
  {
    ...AT_256,
    figure: "lock over HTTP ÷ Redis Lua over RESP, always, 256 connections",
    against: [REDIS_ALWAYS],
    atLeast: 1.6,
  },
  {
    ...AT_256,
    figure: "lock ÷ fastify + ioredis, always, 256 connections",
    against: [IOREDIS_ALWAYS],
    atLeast: 5,
  },
  {
    ...AT_256,
    figure: "lock ÷ fastify + PostgreSQL, its fastest form, 256 connections",
    against: POSTGRES,
    atLeast: 13,
  },
  {
    figure: "500 hot seats until sold out ÷ fastify + ioredis, seconds, 256 connections",
    mix: "hot",
    connections: 256,
    against: [IOREDIS_ALWAYS],
    of: seconds,
    atMost: 0.25,
  },
  {
    figure: "during a snapshot ÷ without, hall of 50,000 seats, 256 connections",
    own: FRONTROW_SNAPSHOTTING,
    mix: "wide",
    connections: 256,
    against: [FRONTROW],
    of: rate,
    atLeast: 0.95,
  },
];

export function verdictsOf(rows: readonly Row[]): Verdict[] {
  return GOALS.map((goal) => {
    const { figure, atLeast, atMost } = goal;
    const bound = atLeast === undefined ? { atMost: atMost! } : { atLeast };
    return verdict(figure, bound, ratioOf(goal, rows));
  });
}

/** @returns null when one of the two sides was not measured. */
function ratioOf(goal: Goal, rows: readonly Row[]): Spread | null {
  const played = rows.filter(
    ({ mix, connections }) => mix === goal.mix && connections === goal.connections,
  );
  const own = played.find(({ name }) => name === (goal.own ?? FRONTROW));
  const others = played
    .filter(({ name }) => goal.against.includes(name))
    .sort((a, b) => medianRate(b) - medianRate(a));
  if (own === undefined || others[0] === undefined) return null;
  const other = others[0];
  return spreadOf(own.rounds.map((round, i) => goal.of(round) / goal.of(other.rounds[i]!)));
}

function medianRate({ rounds }: Row): number {
  return spreadOf(rounds.map(rate)).median;
}
