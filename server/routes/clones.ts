/** Cloning of schemas. */
import { randomUUID } from "node:crypto";
import { UUID_SHAPE } from "../../engine/shapes.ts";
import { Access, type Context, type Handled, type Route } from "../routing/route.ts";
import { answer } from "../wire/answers.ts";
import { CLONE } from "../wire/shapes.ts";
import { cloneView } from "../wire/views.ts";
import { LONG_ID, showOwn, submit, UUID_ID } from "./handling.ts";

const BASE = { tag: "Schemas", access: Access.ORGANIZATION, durable: true } as const;

export const CLONE_ROUTES: readonly Route[] = [
  {
    ...BASE,
    method: "post",
    path: "/api/private/v2.0/schemas/clone/{id}",
    summary: "Clone a schema with its layout and pricing zones",
    params: LONG_ID,
    answers: { 200: UUID_SHAPE },
    problems: [400, 403, 404, 409],
    handle: cloneSchema,
  },
  {
    ...BASE,
    method: "get",
    path: "/api/private/v2.0/schemas/clone/{id}",
    summary: "Read how far a clone operation is",
    params: UUID_ID,
    answers: { 200: CLONE },
    problems: [400, 403, 404],
    handle: readClone,
  },
];

function cloneSchema(context: Context): Handled {
  const { caller, params } = context;
  const operation = { schemaId: Number(params["id"]), cloneId: randomUUID() };
  return submit(context, { kind: "cloneSchema", caller, ...operation }, ({ id }) =>
    answer(200, id),
  );
}

function readClone(context: Context): Handled {
  const { clones } = context.services.engine.state.catalog;
  const clone = clones.get(String(context.params["id"]));
  return showOwn(clone, context, "clone operation", (own) => answer(200, cloneView(own)));
}
