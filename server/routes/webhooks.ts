/** Webhooks, and what became of their deliveries. */
import type { WebhookRow } from "../../engine/catalog.ts";
import { COMMANDS } from "../../engine/commands.ts";
import { ownRow } from "../../engine/queries/access.ts";
import { isRefused, refuseInvalid, Result } from "../../engine/results.ts";
import type { WebhookBody, WebhookChange } from "../../engine/bodies.ts";
import { commandRoute, problemsOf, submit } from "../api/router.ts";
import {
  listRoute,
  PAGE_QUERY,
  pageAnswer,
  type PageQuery,
  pageShape,
  rangeOf,
} from "../api/page.ts";
import { type Context, type Handled, type Route, route } from "../api/route.ts";
import { Access } from "../auth/access.ts";
import type { DeliveryRow } from "../webhooks/messages.ts";
import type { Services } from "../api/services.ts";
import {
  DELIVERY,
  NEW_WEBHOOK,
  refuseUrl,
  RETRY,
  TEST_OUTCOME,
  WEBHOOK,
  WEBHOOK_SECRET,
} from "../webhooks/addresses.ts";
import { answer, type Answer, NO_CONTENT, type Problem } from "../http/answers.ts";
import { localDateTime } from "../http/json.ts";
import { webhookView } from "../api/entities.ts";
import { type ById, LONG_ID, ownRows, showOwn } from "./handling.ts";

const BASE = { tag: "Webhooks", access: Access.ORGANIZATION, durable: true };

const NOT_RETRIED: Problem = {
  refused: Result.OVERLOADED,
  detail: "The deliveries cannot be tried at present; try again in a few seconds.",
};

const NOT_READ: Problem = {
  refused: Result.OVERLOADED,
  detail: "The deliveries cannot be read at present; try again.",
};

export const WEBHOOK_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/v2.0/webhooks/", {
    body: COMMANDS.createWebhook.members.body,
    answers: { 201: NEW_WEBHOOK },
    problems: problemsOf("createWebhook"),
    handle: ({ services, caller, body }) =>
      refuse(services, body) ??
      submit(services, { kind: "createWebhook", caller, body }, (row) =>
        showOnce(201, webhookView(row), secretOf(services, row)),
      ),
  }),
  listRoute(BASE, "GET /api/private/v2.0/webhooks/", {
    item: WEBHOOK,
    rows: ({ services, caller }) =>
      ownRows(services.engine.state.catalog.webhooks, caller).map(webhookView),
  }),
  route(BASE, "PUT /api/private/v2.0/webhooks/", {
    body: COMMANDS.updateWebhook.members.body,
    answers: { 200: WEBHOOK },
    problems: problemsOf("updateWebhook"),
    handle: ({ services, caller, body }) =>
      refuse(services, body) ??
      submit(services, { kind: "updateWebhook", caller, body }, (row) =>
        answer(200, webhookView(row)),
      ),
  }),
  route(BASE, "GET /api/private/v2.0/webhooks/{id}", {
    params: LONG_ID,
    answers: { 200: WEBHOOK },
    problems: [400, 403, 404],
    handle: (context) => {
      const webhook = webhookOf(context);
      return showOwn(webhook, context, "webhook", (own) => answer(200, webhookView(own)));
    },
  }),
  commandRoute(BASE, "DELETE /api/private/v2.0/webhooks/{id}", "deleteWebhook", {
    answers: { 204: null },
    show: () => NO_CONTENT,
  }),
  commandRoute(BASE, "POST /api/private/v2.0/webhooks/{id}/rotate", "rotateWebhookSecret", {
    mayBeEmpty: true,
    answers: { 200: WEBHOOK_SECRET },
    show: (row, services) => showOnce(200, {}, secretOf(services, row)),
  }),
  route(BASE, "POST /api/private/v2.0/webhooks/{id}/retry", {
    params: LONG_ID,
    answers: { 202: RETRY },
    problems: [400, 403, 404],
    handle: (context) =>
      ofOwn(context, async ({ id }) => {
        const due = await context.services.webhooks.retry(id);
        return due === null ? NOT_RETRIED : answer(202, { due });
      }),
  }),
  route(BASE, "POST /api/private/v2.0/webhooks/{id}/test", {
    params: LONG_ID,
    answers: { 200: TEST_OUTCOME },
    problems: [400, 403, 404, 429],
    handle: (context) =>
      ofOwn(context, async (webhook) => {
        const outcome = await context.services.webhooks.test(webhook);
        return "refused" in outcome ? outcome : answer(200, outcome);
      }),
  }),
  route(BASE, "GET /api/private/v2.0/webhooks/{id}/deliveries/", {
    params: LONG_ID,
    query: PAGE_QUERY,
    answers: { 200: pageShape(DELIVERY) },
    problems: [400, 403, 404],
    handle: listDeliveries,
  }),
];

function webhookOf({ services, params }: ById): WebhookRow | undefined {
  return services.engine.state.catalog.webhooks.get(params.id);
}

function refuse({ webhooks }: Services, { url }: WebhookBody | WebhookChange): Problem | null {
  const error = refuseUrl(url, webhooks.allowsPrivate);
  return error === null ? null : refuseInvalid([error]);
}

function secretOf({ keys }: Services, row: WebhookRow) {
  return { secret: keys.webhookSecret(row) };
}

/** Shows a secret. The answer that is stored for retries lacks it. */
function showOnce(status: number, view: object, secret: object): Answer {
  return { ...answer(status, { ...view, ...secret }), stored: JSON.stringify(view) };
}

async function ofOwn(
  context: ById,
  handle: (webhook: WebhookRow) => Promise<Handled>,
): Promise<Handled> {
  const own = ownRow(webhookOf(context), context.caller, "webhook");
  return isRefused(own) ? own : handle(own);
}

async function listDeliveries(
  context: Context<{ readonly id: number }, PageQuery>,
): Promise<Handled> {
  const { services, query, params } = context;
  const [sort] = query.sort;
  if (sort !== undefined) {
    const message = "must be left out: the newest come first";
    return refuseInvalid([{ field: "sort", code: "UNKNOWN", message, rejectedValue: sort }]);
  }
  const range = rangeOf(query, []);
  if (isRefused(range)) return range;
  const own = ownRow(webhookOf(context), context.caller, "webhook");
  if (isRefused(own)) return own;
  const found = await services.webhooks.list(params.id, range.offset, range.limit);
  return found === null ? NOT_READ : pageAnswer(found.rows.map(deliveryView), found.total, query);
}

function deliveryView({ id, nextAtMs, ...row }: DeliveryRow) {
  const nextAt = nextAtMs === null ? null : localDateTime(nextAtMs);
  return { webhookId: id, ...row, nextAt };
}
