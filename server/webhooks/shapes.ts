/** The shapes of the answers about webhooks. */
import { LOCAL_DATE_TIME, LONG, UUID, WEBHOOK_TYPE } from "../../engine/shapes/fields.ts";
import {
  BOOLEAN,
  integer,
  list,
  object,
  oneOf,
  orNull,
  TEXT,
  whenSet,
} from "../../engine/shapes/shape.ts";

const COUNT = integer({ minimum: 0 });

const WEBHOOK_MEMBERS = {
  id: LONG,
  url: TEXT,
  events: list(WEBHOOK_TYPE),
  eventIds: list(UUID),
  active: BOOLEAN,
  disabledReason: whenSet(TEXT),
};
export const WEBHOOK = object(WEBHOOK_MEMBERS);
/** Stored answers to retries lack the secret. */
export const NEW_WEBHOOK = object({ ...WEBHOOK_MEMBERS, secret: whenSet(TEXT) });
export const WEBHOOK_SECRET = object({ secret: whenSet(TEXT) });
export const DELIVERY = object({
  webhookId: TEXT,
  type: WEBHOOK_TYPE,
  sequence: LONG,
  status: oneOf(["PENDING", "DELIVERED", "FAILED", "DISCARDED"]),
  attempts: COUNT,
  lastStatus: orNull(COUNT),
  nextAt: orNull(LOCAL_DATE_TIME),
});
