/** A hall of three seats (A1, A2, A3) and a pit of ten places, on sale, through the library. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { LayoutBody, StateSelection } from "../../engine/bodies.ts";
import { type Frontrow, open, valueOf } from "../../persistence/library/library.ts";
import { area, type Labels, labelsOf, layoutOf, section } from "./layout.ts";

export const LAYOUT = layoutOf(section("Stalls", { A: "1 2 3" }), area("Pit", 10));

/** Path of a new folder, removed after the test. */
export function newFolder(): string {
  const parent = mkdtempSync(path.join(tmpdir(), "frontrow-library-"));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return path.join(parent, "data");
}

export class BoxOffice {
  readonly folder: string;
  readonly frontrow: Frontrow;
  readonly schemaId: number;
  readonly labels: Labels;
  eventId = "";
  priceId = 0;

  private constructor(folder: string, frontrow: Frontrow, schemaId: number, labels: Labels) {
    this.folder = folder;
    this.frontrow = frontrow;
    this.schemaId = schemaId;
    this.labels = labels;
  }

  static async open(layout: LayoutBody = LAYOUT): Promise<BoxOffice> {
    const folder = newFolder();
    const frontrow = await open({ folder, organization: "Odeon" });
    onTestFinished(() => frontrow.close());
    const venue = valueOf(await frontrow.venues.create({ name: "Odeon" }));
    const schema = valueOf(await frontrow.schemas.create({ name: "Hall", venueId: venue.id }));
    const stored = valueOf(await frontrow.layouts.put(schema.id, layout));
    const office = new BoxOffice(folder, frontrow, schema.id, labelsOf(stored));
    await office.putOnSale();
    return office;
  }

  /** Creates another event and makes it the current one. */
  async putOnSale(): Promise<string> {
    const { frontrow, schemaId } = this;
    const times = { start: "2030-05-01T20:00:00", endDate: "2030-05-01T23:00:00" };
    this.eventId = valueOf(
      await frontrow.events.create({ name: "Opening", schemaId, ...times }),
    ).id;
    const [price] = valueOf(await frontrow.prices.create(this.eventId, [{ name: "Full" }]));
    this.priceId = price!.id;
    const groupOfSeats = ["Stalls", "Pit"].map((label) => {
      return { objectId: this.labels.idOf(label), assignmentId: this.priceId };
    });
    valueOf(await frontrow.prices.assign(this.eventId, { groupOfSeats }));
    return this.eventId;
  }

  /** Seats by label, and with places of the pit. */
  selection(sessionId: string, labels: readonly string[], places = 0): StateSelection {
    const seats = labels.map((label) => ({ id: this.labels.idOf(label) }));
    const groupOfSeats = places === 0 ? [] : [{ id: this.labels.idOf("Pit"), capacity: places }];
    return { sessionId, seats, groupOfSeats };
  }
}
