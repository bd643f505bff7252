/** Cloning of schemas. */
import { randomUUID } from "node:crypto";
import { UUID } from "../../../engine/shapes/fields.ts";
import { problemsOf, submit } from "../../routing/command-route.ts";
import { Access, type Route, route } from "../../routing/route.ts";
import { answer } from "../../wire/answers.ts";
import { CLONE } from "../../wire/shapes.ts";
import { cloneView } from "../../wire/views.ts";
import { LONG_ID, showOwn, UUID_ID } from "../handling.ts";

const BASE = { tag: "Schemas", access: Access.ORGANIZATION, durable: true };

export const CLONE_ROUTES: readonly Route[] = [
  route(BASE, "POST /api/private/v2.0/schemas/clone/{id}", {
    params: LONG_ID,
    answers: { 200: UUID },
    problems: [...problemsOf("cloneSchema"), 413],
    handle: ({ services, caller, params }) => {
      const operation = { schemaId: params.id, cloneId: randomUUID() };
      const { schemas } = services.engine.state.catalog;
      const isOwn = schemas.get(params.id)?.organizationId === caller.organizationId;
      if (isOwn && services.layouts.isLarge(params.id)) {
        return services.layouts.clone(caller, params.id, operation.cloneId);
      }
      return submit(services, { kind: "cloneSchema", caller, ...operation }, ({ id }) =>
        answer(200, id),
      );
    },
  }),
  route(BASE, "GET /api/private/v2.0/schemas/clone/{id}", {
    params: UUID_ID,
    answers: { 200: CLONE },
    problems: [400, 403, 404],
    handle: (context) => {
      const clone = context.services.engine.state.catalog.clones.get(context.params.id);
      return showOwn(clone, context, "clone operation", (own) => answer(200, cloneView(own)));
    },
  }),
];
