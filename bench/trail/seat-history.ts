/** How long the history of a seat and of a session takes among very many transitions. */
import { randomUUID } from "node:crypto";
import { Move } from "../../engine/inventory/states.ts";
import { NONE } from "../../engine/constants.ts";
import type { AuditQuestion } from "../../engine/queries/audit-trail.ts";
import { ActorKind, type LogRecord, RecordType } from "../../engine/records.ts";
import { OpenTrail } from "../../persistence/audit/trail.ts";
import { Random } from "../../server/onsale/random.ts";
import { medianOf } from "../harness/measure.ts";
import { EngineVenue } from "../in-process/engine-venue.ts";

const STORE = "00000000-0000-4000-8000-000000000000";
const RECORDS_PER_MS = 60;
/** A lock and an unlock of two seats. */
const TRANSITIONS_PER_TURN = 4;
const QUERIES = 101;
const SEATS_MAX = 50_000;
/** As the interface gives them by default. */
const PAGE = 20;
const NO_AREAS = new Uint32Array();

export interface Histories {
  readonly transitions: number;
  /** Of the first page of a seat's history, the newest first, and of a session's history. */
  readonly seatMs: number;
  readonly sessionMs: number;
}

/** One event of 50,000 seats, in which random pairs of neighbours are locked and unlocked. */
export function measureHistories(file: string, transitions: number): Histories {
  const seats = Math.min(SEATS_MAX, Math.max(100, transitions / 10));
  const trail = new OpenTrail(file, STORE);
  let sequence = 0;
  const add = (timeMs: number, record: LogRecord) => {
    sequence += 1;
    const mark = { sequence, chain: new Uint8Array(16) };
    trail.add(sequence, timeMs, record, mark);
  };
  const venue = EngineVenue.inMemory(seats, add);
  const eventId = venue.openEvent();
  const { partition } = venue.engine.state.catalog.events.get(eventId)!;
  const random = new Random(1);
  const startMs = Date.now();
  const sessions: string[] = [];
  const turns = transitions / TRANSITIONS_PER_TURN;
  const every = Math.ceil(turns / QUERIES);
  for (let turn = 0; turn < turns; turn++) {
    const session = randomUUID();
    if (turn % every === 0) sessions.push(session);
    const first = random.below(seats - 1);
    for (const move of [Move.LOCK, Move.UNLOCK] as const) {
      add(startMs + Math.floor(sequence / RECORDS_PER_MS), {
        type: RecordType.MOVE,
        actor: { kind: ActorKind.ORGANIZATION, id: 1 },
        partition,
        move,
        hold: move === Move.LOCK ? 0 : NONE,
        expiresAtMs: 0,
        session,
        holdType: "",
        seats: Uint32Array.of(first, first + 1),
        areas: NO_AREAS,
      });
    }
  }
  trail.commit({ sequence, chain: new Uint8Array(16) });
  const ask = (filter: object) => {
    const sort = [{ property: "sequence", descending: true } as const];
    const query = { ...filter, sort, offset: 0, limit: PAGE };
    const question: AuditQuestion = { about: "transitions", eventId, query };
    const beganMs = performance.now();
    const outcome = trail.answer(question);
    const tookMs = performance.now() - beganMs;
    if (outcome.gap !== null) throw new Error(`no answer: ${outcome.gap}`);
    return tookMs;
  };
  const seatMs = sessions.map(() => ask({ seatId: venue.seatIds[random.below(seats)]! }));
  const sessionMs = sessions.map((session) => ask({ session }));
  const { written } = trail;
  trail.close();
  return { transitions: written, seatMs: medianOf(seatMs), sessionMs: medianOf(sessionMs) };
}
