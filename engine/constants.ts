/**
 * Every limit of the engine, with its unit in the name. Relations between limits are asserted
 * below: a violation stops the program at its start.
 */
import { assert } from "./assert.ts";

/** Objects (seats and areas) of one booking request. */
export const OBJECTS_PER_REQUEST_MAX = 1_000;
/** Calls of one cart. */
export const CART_ITEMS_MAX = 50;
/**
 * Seats that the `best` items of a cart may look through, each those of its event: nothing else is
 * decided meanwhile.
 */
export const CART_BEST_SEATS_MAX = 500_000;
/** Places of one request for the best ones. */
export const BEST_QUANTITY_MAX = 50;
/** Prices, and groups of seats, of one request for the best places. */
export const BEST_PRICES_MAX = 100;
export const BEST_GROUPS_MAX = 1_000;
/** The rank of a seat, smaller is better; that of seats without one where others have ranks. */
export const SEAT_RANK_MAX = 1_000_000_000;
/** Channels of one event: a slot takes four bits of a seat. */
export const CHANNELS_PER_EVENT_MAX = 15;
export const CHANNEL_KEY_LENGTH_MAX = 64;
/** Seats, and groups of seats, of a request for a channel. */
export const CHANNEL_SEATS_MAX = 10_000;
export const CHANNEL_GROUPS_MAX = 1_000;
/** Seats of one layout. */
export const SEATS_PER_LAYOUT_MAX = 200_000;
/**
 * Bytes of a stored layout as JSON. In the log it can take 2.25 times as many (a short fraction
 * becomes eight bytes), and it must fit in one record.
 */
export const LAYOUT_BYTES_MAX = 56 * 1_024 * 1_024;
/** Bytes as JSON of the drawing members of one object of a layout, and of its view box. */
export const DRAWING_BYTES_MAX = 2_048;
/** Bytes of the thumbnail of a schema as JSON. */
export const THUMBNAIL_BYTES_MAX = 256 * 1_024;
/** Objects named by a refusal when a new layout would remove them while they are in use. */
export const INVENTORY_ERRORS_MAX = 1_000;
/** Prices of one event at a time. Slot 0 means "no price". */
export const PRICES_PER_EVENT_MAX = 65_535;
/** The amount of a price, in minor units: ten billion of a currency with cents. */
export const AMOUNT_MAX = 1_000_000_000_000;
/** Places of one general-admission area. */
export const AREA_CAPACITY_MAX = 2_147_483_647;
/** In code points, as all lengths of texts. */
export const NAME_LENGTH_MAX = 255;
export const SESSION_LENGTH_MAX = 255;
export const HOLD_TYPE_LENGTH_MAX = 64;
export const PASSWORD_LENGTH_MIN = 8;
export const PASSWORD_LENGTH_MAX = 128;
/** Open logins of one account. */
export const LOGINS_PER_ACCOUNT_MAX = 1_000;
/** Networks that an account has logged in from. Beyond it, the one of longest ago is forgotten. */
export const NETWORKS_PER_ACCOUNT_MAX = 16;
/** Hold types defined by an organization. */
export const HOLD_TYPES_MAX = 100;
export const EXTENSION_SECONDS_MAX = 86_400;
/** The largest limit of an organization on its held seats or its requests. */
export const ORGANIZATION_LIMIT_MAX = 1_000_000;
/** A cart is held for fifteen minutes unless its hold type says otherwise. */
export const CART_TTL_SECONDS = 900;
/** The longest lifetime of a hold with an end: ten years. */
export const HOLD_TTL_SECONDS_MAX = 315_360_000;
/** The longest grace time of a rotated key: thirty days. */
export const KEY_GRACE_SECONDS_MAX = 2_592_000;

/** Webhooks of an organization. */
export const WEBHOOKS_MAX = 20;
/** Events of one webhook filter. */
export const WEBHOOK_EVENTS_MAX = 1_000;
/** Earlier filters kept by a webhook, for unsent changes. */
export const EARLIER_FILTERS_MAX = 8;
export const URL_LENGTH_MAX = 2_048;
/** Grace time of the old secret of a webhook beside the new one, unless the caller says. */
export const SECRET_GRACE_SECONDS = 86_400;

/** Visitors of one door. */
export const VISITORS_MAX = 2_000_000;
/** Places of one door that wait or are to be passed over. Who comes back takes another one. */
export const PLACES_WAITING_MAX = 4_000_000;
export const INVITED_PER_MINUTE_MAX = 600_000;
/** Characters of an admission token; one has less than 400. */
export const ADMISSION_LENGTH_MAX = 1_024;
/** The longest time of an invitation, and of an admission. */
export const CLAIM_SECONDS_MAX = 3_600;
export const INSIDE_SECONDS_MAX = 86_400;
/** After `opensAt` a door waits so long for the value of its beacon. */
export const BEACON_WAIT_SECONDS = 60;
/** Characters of the name and of the value of a beacon. */
export const BEACON_LENGTH_MAX = 255;

/** "No such index": the largest unsigned 32-bit integer. */
export const NONE = 0xffff_ffff;

assert(VISITORS_MAX <= PLACES_WAITING_MAX, "everybody may wait");
assert(SEATS_PER_LAYOUT_MAX < NONE, "a seat index is never NONE");
assert(CHANNELS_PER_EVENT_MAX <= 0xf, "a channel fits into four bits");
assert(PRICES_PER_EVENT_MAX <= 0xffff, "a price slot fits into sixteen bits");
assert(AMOUNT_MAX <= Number.MAX_SAFE_INTEGER, "an amount is exact");
assert(AREA_CAPACITY_MAX <= 0x7fff_ffff, "the counters of an area are signed 32-bit integers");
assert(SECRET_GRACE_SECONDS <= KEY_GRACE_SECONDS_MAX, "the default grace time is allowed");
assert(CART_TTL_SECONDS <= HOLD_TTL_SECONDS_MAX, "the lifetime of a cart is allowed");
