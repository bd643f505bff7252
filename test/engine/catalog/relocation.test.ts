/** The steps of a move between cells, as records. */
import { expect, test } from "vitest";
import {
  baseOfCell,
  CELL_IDS,
  CELL_MAX,
  cellOf,
  type OrganizationMove,
  placeInCell,
} from "../../../engine/cells.ts";
import { Move } from "../../../engine/inventory/states.ts";
import { RecordType } from "../../../engine/records.ts";
import { Result } from "../../../engine/results.ts";
import { checkState } from "../../../engine/verify.ts";
import { replayed, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

const ADDRESS = "https://cell-7.example";
const MOVES: Record<OrganizationMove["phase"], OrganizationMove> = {
  LEAVING: { phase: "LEAVING", id: 5, toCell: 7, address: ADDRESS },
  LEFT: { phase: "LEFT", id: 5, toCell: 7, address: ADDRESS },
  ARRIVING: { phase: "ARRIVING", id: 5, toCell: 7, address: ADDRESS },
};
const FOREIGN = 7_000_000_000_003;

const world = () => new World([section("Stalls", { A: "1 2 3" }), area("Pit", 5)]);

function become(made: World, phase: OrganizationMove["phase"] | null) {
  const { organizationId } = made.caller;
  const move = phase === null ? null : MOVES[phase];
  return made.submit("moveOrganization", made.tenant, { organizationId, move }).refused;
}

function arriving(made: World) {
  const own = made.engine.state.catalog.organizations.get(made.caller.organizationId)!;
  const row = { ...own, id: FOREIGN, name: "Foreign", move: MOVES.ARRIVING };
  return made.submit("beginArrival", made.tenant, { row, accounts: [] });
}

test("an organization leaves, or stays; after it has left, nothing follows", () => {
  const made = world();
  expect(become(made, "LEFT")).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(become(made, "LEAVING")).toBe(Result.OK);
  expect(become(made, "LEAVING")).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(become(made, null)).toBe(Result.OK);
  expect(made.book("lock", made.selection("A", "A1")).refused).toBe(Result.OK);
  expect(become(made, "LEAVING")).toBe(Result.OK);
  expect(become(made, "LEFT")).toBe(Result.OK);
  expect(become(made, null)).toBe(Result.INVALID_STATUS_TRANSITION);
  const late = made.book("unlock", made.selection("A", "A1"));
  expect(late.refused).toBe(Result.ORGANIZATION_MOVED);
  const { move } = made.engine.state.catalog.organizations.get(made.caller.organizationId)!;
  expect(move).toEqual(MOVES.LEFT);
  expect(replayed(made.journal).catalog.away.get(made.caller.organizationId)).toEqual(MOVES.LEFT);
});

test("while an organization leaves, its changes are refused, and those of others are not", () => {
  const made = world();
  const other = made.createOrganization(made.tenant, "Other");
  const { organizationId } = made.caller;
  become(made, "LEAVING");
  const settings = { organizationId, body: { bookingEnabled: false } };
  const change = { body: { id: organizationId, name: "New" } };
  expect(made.book("lock", made.selection("A", "A1")).refused).toBe(Result.ORGANIZATION_MOVING);
  for (const outcome of [
    made.submit("changeSettings", made.tenant, settings),
    made.submit("updateOrganization", made.tenant, change),
    made.submit("deleteOrganization", made.tenant, { organizationId }),
  ]) {
    expect(outcome.refused).toBe(Result.ORGANIZATION_MOVING);
  }
  expect(made.submit("createVenue", other, { body: { name: "House" } }).refused).toBe(Result.OK);
});

test("holds of an organization that leaves do not expire here, and do if it stays", () => {
  const made = world();
  made.book("lock", made.selection("A", "A1"));
  become(made, "LEAVING");
  made.clock.timeMs += 3_600_000;
  made.engine.expireAll();
  const partition = made.engine.state.partitionOf(made.event);
  expect(partition.holds.count).toBe(1);
  become(made, null);
  made.engine.expireAll();
  expect(partition.holds.count).toBe(0);
});

test("an organization arrives under its own ids, and its events get places of this cell", () => {
  const made = world();
  const { catalog } = made.engine.state;
  expect(arriving(made).refused).toBe(Result.OK);
  expect(arriving(made).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  const venue = { ...catalog.venues.get(made.venueId)!, id: FOREIGN + 1, organizationId: FOREIGN };
  const schema = { ...catalog.schemas.get(made.schemaId)!, id: FOREIGN + 2, venueId: venue.id };
  const layout = { ...catalog.layouts.get(made.schemaId)!, id: schema.id };
  const partition = placeInCell(catalog.nextId);
  const id = "00000000-0000-4000-8000-00000000beef";
  const event = { ...made.event, id, organizationId: FOREIGN, schemaId: schema.id, partition };
  const arrive = (arrival: Parameters<typeof made.submit<"arrive">>[2]["arrival"]) =>
    made.must("arrive", made.tenant, { ownerId: FOREIGN, arrival });
  arrive({
    newIds: 1,
    puts: [
      { table: "venues", row: venue },
      { table: "schemas", row: { ...schema, organizationId: FOREIGN } },
      { table: "layouts", row: layout },
      { table: "events", row: event },
      {
        table: "prices",
        row: {
          id: FOREIGN + 3,
          eventId: id,
          slot: 1,
          name: "A",
          renamedAtMs: 0,
          externalId: null,
        },
      },
    ],
  });
  const actor = made.tenant.actor;
  const [runs, areas] = [Uint32Array.of(1, 0, 3), new Uint32Array()];
  arrive({ type: RecordType.PRICE, actor, partition, runs, areas });
  const sold = { move: Move.DIRECT_SALE, hold: 0xffff_ffff, session: "", holdType: "" };
  const seats = Uint32Array.of(0, 1);
  arrive({ type: RecordType.MOVE, actor, partition, ...sold, expiresAtMs: 0, seats, areas });
  made.must("moveOrganization", made.tenant, { organizationId: FOREIGN, move: null });
  checkState(made.engine.state);
  checkState(replayed(made.journal));
  const caller = { ...made.caller, organizationId: FOREIGN };
  const outcome = made.submit("createVenue", caller, { body: { name: "New" } });
  expect(outcome).toMatchObject({ value: { id: partition + 1 } });
});

test("what has arrived in part is removed as a whole; what has left keeps its row", () => {
  const made = world();
  arriving(made);
  const { organizations, venues } = made.engine.state.catalog;
  expect(made.submit("clearOrganization", made.tenant, { organizationId: FOREIGN }).refused).toBe(
    0,
  );
  expect(organizations.has(FOREIGN)).toBe(false);
  const { organizationId } = made.caller;
  const clear = () => made.submit("clearOrganization", made.tenant, { organizationId }).refused;
  expect(clear()).toBe(Result.INVALID_STATUS_TRANSITION);
  become(made, "LEAVING");
  expect(clear()).toBe(Result.INVALID_STATUS_TRANSITION);
  become(made, "LEFT");
  expect(clear()).toBe(Result.OK);
  expect([organizations.has(organizationId), venues.size]).toEqual([true, 0]);
  checkState(made.engine.state);
  made.must("deleteOrganization", made.tenant, { organizationId });
  expect(made.engine.state.catalog.away.size).toBe(0);
});

test("an arrival is refused when its name or an account's address is taken", () => {
  const made = world();
  const own = made.engine.state.catalog.organizations.get(made.caller.organizationId)!;
  const row = { ...own, id: FOREIGN, move: MOVES.ARRIVING };
  const begin = (rest: object, accounts: readonly object[] = []) =>
    made.submit("beginArrival", made.tenant, {
      row: { ...row, ...rest },
      accounts: accounts as never,
    }).refused;
  expect(begin({})).toBe(Result.DUPLICATE_NAME);
  expect(begin({ name: "New", tenantId: 99 })).toBe(Result.ENTITY_NOT_FOUND);
  const admin = [...made.engine.state.catalog.accounts.values()].find(
    ({ superAdminOf }) => superAdminOf !== null,
  )!;
  expect(begin({ name: "New" }, [{ ...admin, id: FOREIGN + 1 }])).toBe(Result.ACCOUNT_EMAIL_IN_USE);
});

// The ranges of ids of cells.

test.each([0, 1, 7, CELL_MAX])("the first and the last id of cell %d show it", (cell) => {
  const [first, last] = [baseOfCell(cell) + 1, baseOfCell(cell) + CELL_IDS - 1];
  expect([cellOf(first), cellOf(last)]).toEqual([cell, cell]);
  expect([placeInCell(first), placeInCell(last)]).toEqual([1, CELL_IDS - 1]);
  expect(Number.isSafeInteger(last)).toBe(true);
});

test("the ids of a server without cells are those of cell 0", () => {
  expect([baseOfCell(0), cellOf(1), placeInCell(48)]).toEqual([0, 0, 48]);
});
