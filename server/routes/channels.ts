/** Channels of an event: seats kept for the calls that name them. */
import { CHANNEL as CHANNEL_BODY } from "../../engine/bodies.ts";
import { summarizeChannel, summarizeChannels } from "../../engine/queries/summary.ts";
import { isGranted, isRefused } from "../../engine/results.ts";
import { CHANNEL_KEY, list, UUID } from "../../engine/schema.ts";
import { CHANNEL } from "../api/entities.ts";
import { type Route, route } from "../api/route.ts";
import { commandRoute, problemsOf } from "../api/router.ts";
import { Access } from "../auth/access.ts";
import { answer, asOfSequence, NO_CONTENT } from "../http/answers.ts";
import { OF_LISTS } from "../http/limits.ts";
import { readEvent, UUID_ID } from "./handling.ts";

const BASE = { tag: "Channels", access: Access.ORGANIZATION, durable: true };
const PATH = "/api/private/v2.0/events/{id}/channels/";

export const CHANNEL_ROUTES: readonly Route[] = [
  route(BASE, `PUT ${PATH}{key}`, {
    ...OF_LISTS,
    params: { id: UUID, key: CHANNEL_KEY },
    body: CHANNEL_BODY,
    yields: true,
    answers: { 200: CHANNEL, 201: CHANNEL },
    problems: problemsOf("putChannel"),
    handle: ({ services: { engine }, caller, params: { id: eventId, key }, body }) => {
      const outcome = engine.submit({ kind: "putChannel", caller, eventId, key, body });
      if (!isGranted(outcome)) return outcome;
      const event = engine.state.catalog.events.get(eventId)!;
      return answer(outcome.value ? 201 : 200, summarizeChannel(engine.state, event, key));
    },
  }),
  route({ ...BASE, hasSequence: true }, `GET ${PATH}`, {
    params: UUID_ID,
    answers: { 200: list(CHANNEL) },
    problems: [400, 403, 404],
    handle: (context) => {
      const { state } = context.services.engine;
      const event = readEvent(context, context.params.id);
      if (isRefused(event)) return event;
      return asOfSequence(answer(200, summarizeChannels(state, event)), state.sequenceOf(event));
    },
  }),
  commandRoute(BASE, `DELETE ${PATH}{key}`, "deleteChannel", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
];
