/** Result codes: each is given by a command, and keeps its number. */
import { expect, test } from "vitest";
import { Admission } from "../../engine/ports.ts";
import { grant, refuse, refuseInvalid, Result } from "../../engine/results.ts";
import { administratorOf, organizationOf, World } from "../support/engine.ts";
import { area, guidOf, section } from "../support/layout.ts";

const world = (): World => new World([section("Stalls", { A: "1 2 3" }), area("Pit", 5)]);
const NOBODY = "00000000-0000-4000-8000-00000000beef";

function move(made: World, phase: "LEAVING" | "LEFT"): void {
  const { organizationId } = made.caller;
  const address = "http://cell-7.example";
  made.must("moveOrganization", made.tenant, {
    organizationId,
    move: { phase, id: 1, toCell: 7, address },
  });
}

/** By name of the code: a command whose answer it is, in a fresh world. */
const WAYS: Record<keyof typeof Result, (made: World) => { refused: Result }> = {
  OK: (made) => made.book("lock", made.selection("A", "A1")),
  LOG_UNAVAILABLE: (made) => {
    made.journal.admits = Admission.UNAVAILABLE;
    return made.book("lock", made.selection("A", "A1"));
  },
  OVERLOADED: (made) => {
    made.journal.admits = Admission.OVERLOADED;
    return made.book("lock", made.selection("A", "A1"));
  },
  PAYLOAD_TOO_LARGE: (made) => {
    made.journal.takes = () => ({ recordBytes: 2, recordBytesMax: 1 });
    return made.book("lock", made.selection("A", "A1"));
  },
  NO_ROOM: (made) => {
    made.engine.state.room = { ...made.engine.state.room, events: 0 };
    const { name, start, endDate, schemaId } = made.event;
    const body = { name, start, endDate, schemaId };
    return made.submit("createEvent", made.caller, { eventId: NOBODY, body });
  },
  ORGANIZATION_MOVING: (made) => {
    move(made, "LEAVING");
    return made.book("lock", made.selection("A", "A1"));
  },
  ORGANIZATION_MOVED: (made) => {
    move(made, "LEAVING");
    move(made, "LEFT");
    return made.book("lock", made.selection("A", "A1"));
  },
  VALIDATION_FAILED: (made) => made.book("lock", {}),
  ENTITY_NOT_FOUND: (made) => made.submit("deleteVenue", made.caller, { venueId: 999 }),
  ACCESS_DENIED: (made) => {
    const other = made.createOrganization(made.tenant, "Other");
    return made.submit("deleteVenue", other, { venueId: made.venueId });
  },
  EVENT_ACCESS_DENIED: (made) => {
    const body = made.selection("A", "A1");
    return made.submit("lock", made.caller, { eventId: NOBODY, body });
  },
  ORGANIZATION_DISABLED: (made) => {
    made.change({ bookingEnabled: false });
    return made.book("lock", made.selection("A", "A1"));
  },
  SALES_CONTROL_REQUIRED: (made) => {
    made.change({ salesControl: false });
    return made.book("sale", made.selection("A", "A1"));
  },
  EVENT_NOT_PUBLISHED: (made) => {
    const { caller, eventId } = made;
    made.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
    return made.book("directsale", made.selection("A", "A1"));
  },
  EVENT_BOUND_TO_SERIES: (made) => {
    const { caller, eventId, event } = made;
    const { id: seriesId } = made.must("createSeries", caller, { body: { name: "Ring" } });
    made.must("bindEvent", caller, { eventId, body: { seriesId } });
    const body = { ...event, start: "2026-05-01T19:00" };
    return made.submit("updateEvent", caller, { eventId, body, force: false });
  },
  DUPLICATE_NAME: (made) =>
    made.submit("createOrganization", made.tenant, organizationOf("Organization")),
  ACCOUNT_EMAIL_IN_USE: (made) =>
    made.submit("createTenant", made.tenant, {
      name: "Two",
      tokenSha256: null,
      administrator: administratorOf("ADMIN@tenant.example"),
    }),
  INVALID_STATUS_TRANSITION: (made) => {
    const { caller, eventId } = made;
    return made.submit("changeEventStatus", caller, { eventId, body: { status: "DRAFT" } });
  },
  ENTITY_IN_USE: (made) => made.submit("deleteVenue", made.caller, { venueId: made.venueId }),
  INVENTORY_IN_USE: (made) => {
    made.book("block", made.selection("A", "A1"));
    const { caller, schemaId } = made;
    const gone = { guid: guidOf("A1"), rowGuid: guidOf("row A"), name: "1", toRemove: true };
    return made.submit("putLayout", caller, {
      schemaId,
      body: { seats: [gone] },
      forceDelete: false,
    });
  },
  INVENTORY_NOT_AVAILABLE: (made) => made.book("sale", made.selection("A", "A1")),
  ORPHAN_SEAT: (made) => {
    made.change({ orphanPrevention: true });
    return made.book("lock", made.selection("A", "A2"));
  },
};

test("every code has a command that gives it, and keeps its place in the order", () => {
  expect(Object.keys(WAYS)).toEqual(Object.keys(Result));
});

test.each(Object.entries(Result))("%s is the answer to its command", (name, code) => {
  expect(WAYS[name as keyof typeof Result](world()).refused).toBe(code);
});

test("codes are in order of precedence and keep their numbers, which stored answers hold", () => {
  const codes = [
    0, 10, 11, 12, 13, 14, 15, 20, 30, 31, 32, 40, 41, 42, 43, 50, 51, 52, 53, 54, 60, 61,
  ];
  expect(Object.values(Result)).toEqual(codes);
});

test("a refusal of a bad request counts its fields", () => {
  const fault = { field: "a", code: "X", message: "m", rejectedValue: null };
  expect(refuseInvalid([fault]).detail).toBe("1 field is not valid.");
  expect(refuseInvalid([fault, fault]).detail).toBe("2 fields are not valid.");
  expect(refuse(Result.ORPHAN_SEAT, "why").errors).toEqual([]);
  expect(grant(null, 7)).toEqual({ refused: Result.OK, record: null, value: 7 });
});
