/** Live views of an event: its map, its changes, and the stream of them. */
import { integer, SEQUENCE, TEXT } from "../../engine/schema.ts";
import { type Context, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import type { LiveContext } from "../live/live.ts";
import { EVENT_CHANGES, EVENT_MAP, STREAM_TICKET } from "../api/entities.ts";
import { ownedEvent } from "./history.ts";
import { UUID_ID } from "./handling.ts";

const BASE = { tag: "Events", access: Access.VIEWER, durable: true };
const PATH = "/api/private/v2.0/events/{id}";

const TICKET = { shape: TEXT, description: "A ticket for this event, in place of the key." };
const SINCE = {
  shape: SEQUENCE,
  description: "Changes after this sequence number.",
};
const LIMIT = {
  shape: integer({ minimum: 1, maximum: 1_000 }),
  description: "How many changes at most.",
  default: 100,
};
const WAIT = {
  shape: integer({ minimum: 0, maximum: 30 }),
  description: "Seconds to wait while there is no change.",
  default: 0,
};

const EVENT_EXAMPLE = 'id: 4713\nevent: change\ndata: {"sequence":4713, ...}\n\n';

export const LIVE_ROUTES: readonly Route[] = [
  route(BASE, `GET ${PATH}/map/`, {
    hasSequence: true,
    params: UUID_ID,
    query: { ticket: TICKET },
    answers: { 200: EVENT_MAP },
    otherMedia: { "application/vnd.msgpack": "The same members as MessagePack." },
    problems: [400, 403, 404],
    handle: (context) => context.services.live.map(liveOf(context)),
  }),
  route(BASE, `GET ${PATH}/changes/`, {
    params: UUID_ID,
    query: { since: SINCE, limit: LIMIT, wait: WAIT, ticket: TICKET },
    answers: { 200: EVENT_CHANGES },
    otherMedia: { "text/event-stream": EVENT_EXAMPLE },
    problems: [400, 403, 404, 410],
    handle: async (context) => {
      const { live } = context.services;
      const owned = await ownedEvent(context);
      return typeof owned === "string" ? live.changes(liveOf(context), context.query) : owned;
    },
  }),
  route(BASE, `GET ${PATH}/stream`, {
    params: UUID_ID,
    query: { since: SINCE, ticket: TICKET },
    answers: { 101: null },
    problems: [400, 403, 404],
    handle: (context) => context.services.live.open(liveOf(context), context.query.since),
  }),
  route({ ...BASE, access: Access.ORGANIZATION }, `POST ${PATH}/stream-tickets`, {
    params: UUID_ID,
    answers: { 201: STREAM_TICKET },
    isDryRun: true,
    problems: [400, 403, 404],
    handle: (context) => context.services.live.issue(liveOf(context)),
  }),
];

function liveOf({ caller, ticket, params, head }: Context<{ readonly id: string }>): LiveContext {
  return { caller, ticket, eventId: params.id, head };
}
