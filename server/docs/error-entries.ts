/** The texts of the error pages, by public code. A test keeps them in step with the table. */
import type { FieldError } from "../../engine/results.ts";

export interface ErrorEntry {
  /** One sentence. This text and the next one are Markdown. */
  readonly cause: string;
  /** What a client does, in one or two paragraphs. */
  readonly client: string;
  /** The values of `errors[].code` that come with it, and what each means. */
  readonly fieldCodes?: Readonly<Record<string, string>>;
  readonly example: ErrorExample;
}

export interface ErrorExample {
  readonly path: string;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
}

const V2 = "/api/private/v2.0";
const MANAGEMENT = "/api/private/management/v2.0";
const EVENT = `${V2}/events/6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f`;

const AGAIN =
  "Send the same request again after the seconds in `Retry-After`, then wait twice as long each " +
  "time. With an `Idempotency-Key` the retry is safe even if the first request did take effect.";

function error(field: string, code: string, message: string, rejectedValue: unknown): FieldError {
  return { field, code, message, rejectedValue };
}

export const ERROR_ENTRIES: Readonly<Record<string, ErrorEntry>> = {
  VALIDATION_FAILED: {
    cause: "A path parameter, query parameter, header or body member is missing or not valid.",
    client:
      "Fix the request. `errors[]` has one item for each problem, up to 100; `field` is the path " +
      "to the member, such as `seats[1].id`. The request changed nothing and did not use up its " +
      "`Idempotency-Key`. Do not retry it unchanged.",
    fieldCodes: {
      NOT_NULL: "the member is required",
      NULL: "the member must be left out or null here",
      TYPE: "the value has another JSON type",
      SIZE: "a text, a list or the whole request is too short or too long",
      RANGE: "a number, time or moment is out of range",
      FORMAT: "a UUID, date-time, email address or line of text is malformed",
      PATTERN: "a label contains characters that it must not contain",
      ENUM: "the value is not one of the allowed values",
      UNKNOWN: "the value names nothing known: a sort property, a hold type",
      NOT_FOUND: "the id exists nowhere, or not in this event, schema or layout",
      DUPLICATE: "the value occurs twice but must be unique",
      MISMATCH: "the value contradicts the path",
      CONFLICT: "two members of the request contradict each other",
    },
    example: {
      path: `${V2}/events/`,
      detail: "1 field is not valid.",
      errors: [error("name", "NOT_NULL", "must be given, and not null", null)],
    },
  },
  MALFORMED_REQUEST: {
    cause:
      "The body cannot be read: it is not UTF-8, not JSON, nested over 32 levels, or it has a " +
      "member named `__proto__`, `constructor` or `prototype`.",
    client: "Fix the code that writes the body. A retry gives the same answer.",
    example: { path: `${V2}/booking/lock`, detail: "The body is not JSON." },
  },
  INVENTORY_NOT_AVAILABLE: {
    cause: "At least one seat or area is not in the state that the booking call needs.",
    client:
      "Nothing was changed: a booking call is all or nothing. Tell the buyer which seats are " +
      "gone, and lock other ones. `errors[]` names every refused seat and area. If you lost the " +
      "answer to an earlier lock, retry that lock with its `Idempotency-Key` instead of locking " +
      "again: a session cannot lock a seat that it already holds.\n\n" +
      "A direct sale answers `200 false` instead, unless an id is not in the layout of the event.",
    fieldCodes: {
      ACTIVE: "on sale, but the call needs a locked or sold seat",
      LOCKED: "held",
      SOLD: "sold",
      BLOCKED: "withdrawn from sale",
      NO_PRICE: "has no price in this event, so it cannot be booked",
      NOT_FOUND: "not in the layout of the event",
      HELD_BY_ANOTHER_SESSION: "held, but not by the `sessionId` of the request",
      INSUFFICIENT_CAPACITY: "the area has fewer places in that state than requested",
    },
    example: {
      path: `${V2}/booking/lock`,
      detail: "Some of the inventory is not available; nothing was changed.",
      errors: [
        error("seats[1].id", "SOLD", "is sold", 4218),
        error(
          "groupOfSeats[0].capacity",
          "INSUFFICIENT_CAPACITY",
          "has fewer places than requested",
          4,
        ),
      ],
    },
  },
  ORGANIZATION_DISABLED: {
    cause: "Booking is switched off for the organization (`bookingEnabled` is false).",
    client:
      "Stop selling and tell your operator. The owner of the tenant token switches booking on " +
      "with `PUT /api/private/management/v2.0/organizations/{id}/settings`. Reads still work.",
    example: {
      path: `${V2}/booking/lock`,
      detail: "The organization is disabled for booking.",
    },
  },
  ACCESS_DENIED: {
    cause:
      "The key is missing or unknown, is of the wrong kind for the path, or the row that you " +
      "name belongs to another organization or tenant.",
    client:
      "Check `X-API-Key`. Paths under `/api/private/management/` take the tenant token, all " +
      "others the secret key of an organization, or the tenant token together with " +
      "`X-Organization-ID`. The key works on this server only, and ends when it is rotated.",
    example: {
      path: `${V2}/events/`,
      detail: "The API key is missing or not valid for this, or the organization is not yours.",
    },
  },
  EVENT_ACCESS_DENIED: {
    cause: "A booking call names an event that does not exist or is another organization's.",
    client:
      "Check `eventId` and the key. Both cases get the same answer, so that nobody can find out " +
      "which events others have.",
    example: {
      path: `${V2}/booking/lock`,
      detail: "There is no such event, or it belongs to another organization.",
    },
  },
  SALES_CONTROL_REQUIRED: {
    cause: "A sale or the reversal of a sale while the organization's sales control mode is off.",
    client:
      "Switch `salesControl` on in the settings of the organization, or use a direct sale. " +
      "Locking and unlocking work in both modes.",
    example: {
      path: `${V2}/booking/sale`,
      detail: "The organization's sales control mode is off.",
    },
  },
  ENTITY_NOT_FOUND: {
    cause: "The path, or the row that the path or body names by its id, does not exist.",
    client:
      "If the detail says that there is no such path, check the URL and the version of the " +
      "server. Otherwise the row was deleted or never existed: remove it from your own data.",
    fieldCodes: { NOT_FOUND: "the id of this item of the list does not exist" },
    example: { path: EVENT, detail: "There is no such event." },
  },
  METHOD_NOT_ALLOWED: {
    cause: "The path exists, but does not take this method.",
    client: "Use one of the methods in the `Allow` header.",
    example: { path: `${V2}/booking/lock`, detail: "This path takes POST." },
  },
  DUPLICATE_NAME: {
    cause:
      "The name is taken: by another organization of the tenant, or (in v1) by another price of " +
      "the event.",
    client:
      "Choose another name, or read the list and use the row that has it. If you retry because " +
      "the first answer was lost, send an `Idempotency-Key` with the first request next time.",
    fieldCodes: { DUPLICATE: "the name that is taken" },
    example: {
      path: `${MANAGEMENT}/organizations/`,
      detail: "There is an organization of that name.",
      errors: [error("name", "DUPLICATE", "is the name of another organization", "Odeon")],
    },
  },
  ACCOUNT_EMAIL_IN_USE: {
    cause:
      "The administrator's email belongs to an account that cannot be used again here, because " +
      "it has rights outside of your tenant.",
    client: "Nothing was created. Use another email address for the administrator.",
    fieldCodes: { DUPLICATE: "the email address that is taken" },
    example: {
      path: `${MANAGEMENT}/organizations/`,
      detail: "An account has that email already.",
      errors: [
        error("email", "DUPLICATE", "is the address of an existing account", "ann@odeon.example"),
      ],
    },
  },
  EVENT_BOUND_TO_SERIES: {
    cause: "The update moves the start of an event that belongs to a series.",
    client:
      "Leave `start` as it is, or take the event out of its series first with " +
      '`PUT /api/private/v2.0/events/{id}/series` and `{"seriesId": null}`.',
    example: {
      path: `${V2}/events/`,
      detail: "The start of an event in a series does not move.",
    },
  },
  INVALID_STATUS_TRANSITION: {
    cause:
      "An event cannot go from its status to the requested one, or it would be published on a " +
      "schema that is a draft.",
    client:
      "An event goes from DRAFT to PUBLISHED to ARCHIVED and back to DRAFT. Read its status and " +
      "take the steps in this order. If its schema is a draft, change the schema first.",
    example: {
      path: `${EVENT}/status`,
      detail: "An event that is DRAFT becomes PUBLISHED, not ARCHIVED.",
    },
  },
  INVENTORY_IN_USE: {
    cause:
      "The change would take away seats or places that are locked, sold or blocked, or their " +
      "price.",
    client:
      "Unlock, revert or unblock the inventory first, or leave it as it is. Some calls have a " +
      "way to insist: `forceDelete=true` when you store a layout, `force=true` when you move an " +
      "event to another schema.",
    fieldCodes: {
      INVENTORY_IN_USE: "this seat or area has locked, sold or blocked inventory",
    },
    example: {
      path: `${V2}/event/6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f/prices/17`,
      detail: "Held, sold or blocked at this price: 42 seats, places in 1 areas.",
    },
  },
  ENTITY_IN_USE: {
    cause: "The row cannot be deleted because others depend on it.",
    client: "Delete or move what depends on it first. The detail names an example.",
    example: { path: `${V2}/venues/3`, detail: "The venue has schemas, for example 4." },
  },
  IDEMPOTENCY_IN_PROGRESS: {
    cause: "The first request with this `Idempotency-Key` has not been answered yet.",
    client:
      "Wait a second and send the same request with the same key again: you will get the answer " +
      "to the first one.",
    example: {
      path: `${V2}/booking/sale`,
      detail: "The first request with this Idempotency-Key has not been answered yet.",
    },
  },
  LENGTH_REQUIRED: {
    cause: "The body came with `Transfer-Encoding`, such as `chunked`, and without its length.",
    client: "Send the body whole, with `Content-Length`. The connection is closed; open a new one.",
    example: {
      path: `${V2}/booking/lock`,
      detail: "Send the body with a Content-Length and without a Transfer-Encoding.",
    },
  },
  PAYLOAD_TOO_LARGE: {
    cause:
      "The body is larger than the path takes: 1 MiB, 64 MiB for a layout, or 4 KiB below " +
      "`/api/auth`.",
    client: "Send less in one request. The connection is closed; open a new one.",
    example: { path: `${V2}/booking/lock`, detail: "The body is larger than 1048576 bytes." },
  },
  UNSUPPORTED_MEDIA_TYPE: {
    cause: "The `Content-Type` is not `application/json`, or the body is compressed.",
    client: "Send JSON, with `Content-Type: application/json` and without `Content-Encoding`.",
    example: { path: `${V2}/booking/lock`, detail: "The body must be application/json." },
  },
  EVENT_NOT_PUBLISHED: {
    cause: "A lock, sale or direct sale on an event that is DRAFT or ARCHIVED.",
    client:
      "Publish the event with `POST /api/private/v2.0/events/{id}/status`. Unlocking, reverting, " +
      "blocking and unblocking work in every status. In v1 the status of this answer is 400.",
    example: {
      path: `${V2}/booking/directsale`,
      detail: "The event is DRAFT, not PUBLISHED.",
    },
  },
  ORPHAN_SEAT: {
    cause:
      "Orphan seat prevention is on, and the request would leave a single free seat with no free " +
      "neighbour.",
    client:
      "Choose seats that leave no gap, or take the orphan as well. `errors[]` names the " +
      "requested seats beside each would-be orphan; the message has the orphan's id. A direct " +
      "sale is never refused for this reason.",
    fieldCodes: { ORPHAN_SEAT: "taking this seat would leave its neighbour alone" },
    example: {
      path: `${V2}/booking/lock`,
      detail: "The request would leave a single seat alone.",
      errors: [error("seats[0].id", "ORPHAN_SEAT", "would leave seat 4217 alone", 4216)],
    },
  },
  IDEMPOTENCY_KEY_REUSED: {
    cause: "The `Idempotency-Key` came with another method, path, query or body in the last day.",
    client:
      "Use a new key for every new operation, and send a retry byte for byte as the first " +
      "request. If two code paths share a key by accident, give each its own prefix.",
    example: {
      path: `${V2}/booking/sale`,
      detail: "This Idempotency-Key came with another request before.",
    },
  },
  RATE_LIMITED: {
    cause:
      "Too many requests without a valid key from one address, or too many wrong passwords for " +
      "one account.",
    client:
      "Wait for the seconds in `Retry-After`, then twice as long each time. Requests with a " +
      "valid key are not limited: check why yours are sent without one.",
    example: {
      path: `${V2}/events/`,
      detail: "Too many requests without a valid key came from this address; wait a minute.",
    },
  },
  INTERNAL_ERROR: {
    cause: "A defect of the server.",
    client:
      "Retry a few times, waiting twice as long each time. With an `Idempotency-Key` this is " +
      "safe. Report the time and the path to your operator: the server's log has the cause.",
    example: { path: `${V2}/events/`, detail: "An unexpected error occurred." },
  },
  LOG_UNAVAILABLE: {
    cause:
      "Changes cannot be written now: the disk is full, or the server is starting or stopping. " +
      "Reads of the audit trail get it too while the trail cannot be read.",
    client: `Nothing was changed. ${AGAIN}`,
    example: {
      path: `${V2}/booking/lock`,
      detail: "The log has no room for changes at the moment; reads continue.",
    },
  },
  OVERLOADED: {
    cause: "More requests wait than the server accepts.",
    client: `Nothing was changed. ${AGAIN}`,
    example: {
      path: `${V2}/booking/lock`,
      detail: "Too much is waiting for the disk; try again.",
    },
  },
};
