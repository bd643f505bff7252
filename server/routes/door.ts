/** The door of an event: its settings, its visitors, and its public side. */
import { ADMISSION, type Caller } from "../../engine/bodies.ts";
import type { EventRow } from "../../engine/catalog.ts";
import { NAME_LENGTH_MAX, NONE } from "../../engine/constants.ts";
import type { Door } from "../../engine/inventory/door.ts";
import { isGranted, isRefused, type Refusal, Result } from "../../engine/results.ts";
import { object, optional, TEXT, text, UUID } from "../../engine/schema.ts";
import { DOOR, DOOR_STATUS, DOOR_VISITOR, ENTERED_VISITOR } from "../api/entities.ts";
import { type Context, type Handled, type Route, route } from "../api/route.ts";
import { problemsOf } from "../api/router.ts";
import { Access } from "../auth/access.ts";
import { doorPage } from "../door/page.ts";
import { admissionView, callerOf, type KeptStatus } from "../door/doors.ts";
import { entryOf } from "../door/keys.ts";
import {
  type Answer,
  answer,
  FrontResult,
  NO_CONTENT,
  page,
  type Problem,
  unlessKnown,
  withTag,
} from "../http/answers.ts";
import { NO_SNIFF } from "../docs/package-files.ts";
import { momentMs } from "../http/json.ts";
import { readEvent, UUID_ID } from "./handling.ts";

const BASE = { tag: "Admission", access: Access.ORGANIZATION, durable: true };
const PUBLIC = { tag: "Door", access: Access.PUBLIC, durable: true, isShared: true };
const TAGGED = { hasVersion: true, takesIfNoneMatch: true };
const ADMISSION_PATH = "/api/private/v2.0/events/{id}/admission";
const VISITORS_PATH = `${ADMISSION_PATH}/visitors` as const;
const DOOR_PATH = "/door/{eventId}";

const VISITOR = text({ minLength: 1, maxLength: 64 });
const VISITOR_IDS = { ...UUID_ID, visitor: VISITOR };
const EVENT_ID = { eventId: UUID };
const PUBLIC_IDS = { ...EVENT_ID, visitor: VISITOR };
const NEW_VISITOR = object({
  customer: optional(text({ minLength: 1, maxLength: NAME_LENGTH_MAX, format: "line" })),
});

export const DOOR_ROUTES: readonly Route[] = [
  route(BASE, `PUT ${ADMISSION_PATH}`, {
    params: UUID_ID,
    body: ADMISSION,
    isConfidential: true,
    answers: { 200: DOOR, 201: DOOR },
    problems: problemsOf("putAdmission"),
    handle: (context) => {
      const { services, caller, params, body } = context;
      const put = { kind: "putAdmission", caller, eventId: params.id, body } as const;
      const opensAtMs = momentMs(body.opensAt);
      const outcome = services.engine.submit({ ...put, opensAtMs });
      if (!isGranted(outcome)) return outcome;
      return withDoor(context, params.id, (shown) => answer(outcome.value ? 201 : 200, shown));
    },
  }),
  route(BASE, `GET ${ADMISSION_PATH}`, {
    params: UUID_ID,
    answers: { 200: DOOR },
    problems: [400, 403, 404],
    handle: (context) => withDoor(context, context.params.id, (shown) => answer(200, shown)),
  }),
  route(BASE, `DELETE ${ADMISSION_PATH}`, {
    params: UUID_ID,
    answers: { 204: null },
    problems: problemsOf("deleteAdmission"),
    handle: ({ services: { engine }, caller, params }) => {
      const outcome = engine.submit({ kind: "deleteAdmission", caller, eventId: params.id });
      return isGranted(outcome) ? NO_CONTENT : outcome;
    },
  }),
  route(BASE, `POST ${VISITORS_PATH}`, {
    params: UUID_ID,
    body: NEW_VISITOR,
    mayBeEmpty: true,
    // The id of a visitor is its secret.
    isConfidential: true,
    yields: true,
    answers: { 200: DOOR_VISITOR, 201: DOOR_VISITOR },
    problems: problemsOf("joinDoor"),
    handle: ({ services: { engine, doors }, caller, params, body }) => {
      const event = engine.state.catalog.events.get(params.id);
      const door = event === undefined ? undefined : engine.state.doors.get(event.partition);
      const id = doors.secrets.visitorOf(door?.id ?? 0, body.customer ?? null);
      const entry = entryOf(id);
      const outcome = engine.submit({ kind: "joinDoor", caller, eventId: params.id, entry });
      if (!isGranted(outcome)) return outcome;
      const { visitor, isNew } = outcome.value;
      // Without a queue the answer invites the visitor at once.
      engine.serveDoor(event!.partition);
      return answer(isNew ? 201 : 200, doors.visitorView(event!, visitor, id));
    },
  }),
  route(BASE, `GET ${VISITORS_PATH}/{visitor}`, {
    params: VISITOR_IDS,
    answers: { 200: DOOR_VISITOR },
    problems: [400, 403, 404],
    handle: (context) =>
      withVisitor(context, ownDoor(context, context.params.id), (found) => show(context, found)),
  }),
  route(BASE, `POST ${VISITORS_PATH}/{visitor}/enter`, {
    params: VISITOR_IDS,
    isConfidential: true,
    answers: { 200: ENTERED_VISITOR },
    problems: problemsOf("enterDoor"),
    handle: (context) => enter(context, context.params.id, context.caller),
  }),
  route(BASE, `DELETE ${VISITORS_PATH}/{visitor}`, {
    params: VISITOR_IDS,
    answers: { 204: null },
    problems: problemsOf("leaveDoor"),
    handle: (context) => leave(context, context.params.id, context.caller),
  }),

  route(PUBLIC, `GET ${DOOR_PATH}`, {
    ...TAGGED,
    params: EVENT_ID,
    answers: { 200: TEXT, 304: null },
    media: "text/html",
    problems: [400, 404, 429],
    handle: (context) => {
      const found = publicDoor(context);
      return isRefused(found) ? found : unlessKnown(doorPage(), context.head);
    },
  }),
  route(PUBLIC, `GET ${DOOR_PATH}/status`, {
    ...TAGGED,
    params: EVENT_ID,
    answers: { 200: DOOR_STATUS, 304: null },
    problems: [400, 404, 429],
    handle: (context) => {
      const found = publicDoor(context);
      if (isRefused(found)) return found;
      const shown = context.services.doors.status(found.event, found.door);
      if (!(shown instanceof Promise)) return statusAnswer(context, shown);
      return shown.then((later) => (later === null ? NO_DOOR : statusAnswer(context, later)));
    },
  }),
  route(PUBLIC, `GET ${DOOR_PATH}/entries`, {
    ...TAGGED,
    params: EVENT_ID,
    answers: { 200: TEXT, 304: null },
    media: "text/plain",
    problems: [400, 404, 409, 429],
    handle: async (context) => {
      const found = publicDoor(context);
      if (isRefused(found)) return found;
      const { door } = found;
      if (!door.isOpen) return NOT_OPEN;
      // The entries of a door never change, and neither does what was promised.
      const known = withTag(NO_ENTRIES, door.row.commitment);
      const shown = unlessKnown(known, context.head);
      if (shown.status === 304) return shown;
      return { ...shown, body: await context.services.doors.entries(door) };
    },
  }),
  route(PUBLIC, `GET ${DOOR_PATH}/visitors/{visitor}`, {
    params: PUBLIC_IDS,
    answers: { 200: DOOR_VISITOR },
    problems: [400, 404, 429],
    handle: (context) => withVisitor(context, publicDoor(context), (found) => show(context, found)),
  }),
  route(PUBLIC, `POST ${DOOR_PATH}/visitors/{visitor}/enter`, {
    params: PUBLIC_IDS,
    answers: { 200: ENTERED_VISITOR },
    problems: [400, 404, 409, 429],
    handle: (context) => asVisitor(context, enter),
  }),
  route(PUBLIC, `DELETE ${DOOR_PATH}/visitors/{visitor}`, {
    params: PUBLIC_IDS,
    answers: { 204: null },
    problems: [400, 404, 429],
    handle: (context) => asVisitor(context, leave),
  }),
];

/** For caches; no secret is in them. */
const STATUS_HEADERS = [NO_SNIFF, ["Cache-Control", "public, max-age=1"]] as const;
const ENTRIES_HEADERS = [NO_SNIFF, ["Cache-Control", "public, max-age=60"]] as const;
const NO_ENTRIES: Answer = {
  ...page("text/plain; charset=utf-8", ""),
  headers: ENTRIES_HEADERS,
};

function statusAnswer({ head }: Context, { body, tag }: KeptStatus): Answer {
  const type = "application/json; charset=utf-8";
  return unlessKnown(withTag({ status: 200, type, body, headers: STATUS_HEADERS }, tag), head);
}

const NO_DOOR: Problem = {
  refused: Result.ENTITY_NOT_FOUND,
  detail: "There is no such event, or it has no door.",
};
const NO_VISITOR: Problem = {
  refused: Result.ENTITY_NOT_FOUND,
  detail: "There is no such visitor at this door.",
};
const NOT_OPEN: Problem = {
  refused: Result.INVALID_STATUS_TRANSITION,
  detail: "The door has not opened: the entries are published with the draw.",
};

interface OpenDoor {
  readonly event: EventRow;
  readonly door: Door;
}

function ownDoor(context: Context, eventId: string): OpenDoor | Refusal | Problem {
  const event = readEvent(context, eventId);
  if (isRefused(event)) return event;
  return doorOf(context, event) ?? { ...NO_DOOR, detail: NO_DOOR_YET };
}

const NO_DOOR_YET = "The event has no door: set one up with PUT events/{id}/admission.";

function doorOf({ services }: Context, event: EventRow): OpenDoor | null {
  const door = services.engine.state.doors.get(event.partition);
  return door === undefined ? null : { event, door };
}

/** The door of a public path. Its calls have a budget of their own. */
function publicDoor(context: Context<{ readonly eventId: string }>): OpenDoor | Problem {
  const { services, params } = context;
  const seconds = services.doors.take();
  if (seconds > 0) {
    const headers = [["Retry-After", String(Math.max(1, Math.ceil(seconds)))]] as const;
    const detail = "Too many visitors ask at once; try again shortly.";
    return { refused: FrontResult.RATE_LIMITED, detail, headers };
  }
  const event = services.engine.state.catalog.events.get(params.eventId);
  return (event && doorOf(context, event)) ?? NO_DOOR;
}

function withDoor(
  context: Context,
  eventId: string,
  view: (shown: ReturnType<typeof admissionView>) => Answer,
): Handled {
  const own = ownDoor(context, eventId);
  if (isRefused(own)) return own;
  const { engine, doors } = context.services;
  return view(admissionView(engine, doors, own.event, own.door));
}

interface Present extends OpenDoor {
  /** The secret. */
  readonly id: string;
  readonly visitor: number;
}

type OfVisitor = Context<{ readonly visitor: string }>;

function withVisitor(
  { services, params }: OfVisitor,
  found: OpenDoor | Refusal | Problem,
  act: (present: Present) => Handled,
): Handled {
  if (isRefused(found)) return found;
  const id = params.visitor;
  const visitor = services.doors.find(found.door, id);
  return visitor === NONE ? NO_VISITOR : act({ ...found, id, visitor });
}

function show({ services: { doors } }: Context, { event, visitor, id }: Present): Answer {
  return answer(200, doors.visitorView(event, visitor, id));
}

type Act = (context: OfVisitor, eventId: string, caller: Caller) => Handled;

/** A call of a visitor itself, for its event. */
function asVisitor(
  context: Context<{ readonly eventId: string; readonly visitor: string }>,
  act: Act,
): Handled {
  const found = publicDoor(context);
  if (isRefused(found)) return found;
  return act(context, found.event.id, callerOf(context.services.engine, found.event));
}

function enter(
  { services: { engine, doors }, params }: OfVisitor,
  eventId: string,
  caller: Caller,
) {
  const id = params.visitor;
  const entered = engine.submit({ kind: "enterDoor", caller, eventId, entry: entryOf(id) });
  if (!isGranted(entered)) return entered;
  const event = engine.state.catalog.events.get(eventId)!;
  const admission = doors.tokenOf(event, entered.value, id);
  return answer(200, { ...doors.visitorView(event, entered.value, id), admission });
}

function leave({ services: { engine }, params }: OfVisitor, eventId: string, caller: Caller) {
  const entry = entryOf(params.visitor);
  const left = engine.submit({ kind: "leaveDoor", caller, eventId, entry });
  return isGranted(left) ? NO_CONTENT : left;
}
