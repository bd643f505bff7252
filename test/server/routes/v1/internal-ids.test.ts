/** Keys that are ids, as `useInternalIds` gives them, and keys that name nothing. */
import { expect, test } from "vitest";
import type { LayoutBody } from "../../../../engine/bodies.ts";
import { area, layoutOf, section } from "../../../support/layout.ts";
import { V2 } from "../../../support/server.ts";
import { expectProblem, invalid } from "../../wire/wire.ts";
import { Desk, V1 } from "./desk.ts";

interface Metadata {
  readonly sectors: readonly {
    readonly key: string;
    readonly name: string;
    readonly rows: readonly {
      readonly key: string;
      readonly seats: readonly { readonly key: string }[];
    }[];
  }[];
}

async function metadata(desk: Desk, schemaId = desk.a.schemaId) {
  const path = `${V1}/venues/schemas/${schemaId}/?useInternalIds=true&numberedSections=true`;
  return (await desk.get<Metadata>(path)).body.sectors;
}

/** Adds a part to the plan and gives it a price, over v1. */
async function price(desk: Desk, layout: LayoutBody, entry: object): Promise<void> {
  const { schemaId, eventId, priceId } = desk.a;
  const { status } = await desk.put(`${V2}/schemas/${schemaId}/layout`, layout);
  const path = `${V1}/assignments/?id=${eventId}`;
  const failed = await desk.post(path, [{ ...entry, price: priceId }]);
  expect([status, failed.body]).toEqual([200, []]);
}

test("keys that are ids work in every call that takes composite keys", async () => {
  const desk = new Desk();
  const { labels, eventId, priceId } = desk.a;
  const sectors = await metadata(desk);
  expect(sectors.map(({ name }) => name)).toEqual(["1. Stalls", "2. Round", "3. Pit"]);
  const seat = sectors[0]!.rows[0]!.seats[0]!.key;
  const pit = sectors[2]!.key;
  expect([seat, pit]).toEqual([String(labels.idOf("A1")), String(labels.idOf("Pit"))]);
  await desk.books("lock", [seat, `${pit}:2`]);
  expect([await desk.states("A1"), await desk.pit()]).toEqual([["LOCKED"], [98, 2, 0, 0]]);
  await desk.books("sale", [seat, `${pit}:1`]);
  await desk.books("unlock", [`${pit}:1`]);
  const path = `${V1}/assignments/?id=${eventId}`;
  const other = String(labels.idOf("A2"));
  const entry = { compositeKey: other, price: priceId };
  expect((await desk.post(path, [entry])).body).toEqual([]);
  expect((await desk.call("DELETE", path, { ...desk.a, body: [entry] })).body).toEqual([]);
});

test("ids of rows and sections are no keys, and neither are other numbers", async () => {
  const desk = new Desk();
  const sectors = await metadata(desk);
  const ids = [sectors[0]!.key, sectors[0]!.rows[0]!.key, "0", "-1", "999999999"];
  const keys = [...ids, ` ${desk.a.labels.idOf("A1")}`];
  await desk.books("lock", keys, keys);
});

test("a key that names something by its label comes before an id", async () => {
  const desk = new Desk();
  const key = String(desk.a.labels.idOf("A1"));
  await price(desk, layoutOf(area(key, 5)), { compositeKey: key, capacity: 5 });
  await desk.books("lock", [`${key}:2`, key], [key]);
  expect(await desk.states("A1")).toEqual(["ACTIVE"]);
});

test("an empty key fails its entry, and a missing key fails the call", async () => {
  const desk = new Desk();
  await desk.books("lock", ["", "A1"], [""]);
  const long = "x".repeat(5_000);
  await desk.books("lock", [long, "A2"], [long]);
  const path = `${V1}/booking/lock?id=${desk.a.eventId}`;
  const assignments = `${V1}/assignments/?id=${desk.a.eventId}`;
  for (const compositeKey of [undefined, null]) {
    const entries = [{ compositeKey: "Stalls;;A;;3" }, { compositeKey }];
    const error = invalid("[1].compositeKey NOT_NULL");
    expectProblem(await desk.post(path, entries), error);
    const priced = entries.map((entry) => ({ ...entry, price: desk.a.priceId }));
    expectProblem(await desk.post(assignments, priced), error);
  }
  expect(await desk.states("A1", "A2", "A3")).toEqual(["LOCKED", "LOCKED", "ACTIVE"]);
});

test("a key in decomposed letters names the label in composed letters", async () => {
  const desk = new Desk();
  const compositeKey = "Cafe\u0301;;A;;1";
  await price(desk, layoutOf(section("Caf\u00e9", { A: "1" })), { compositeKey });
  await desk.books("lock", [compositeKey]);
});
