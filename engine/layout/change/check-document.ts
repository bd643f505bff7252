/**
 * The rules for a layout as a whole: guids are unique, rows and seats point at an existing object,
 * and labels are unique where a v1 composite key needs it. An error names the object that was sent.
 */
import { assert } from "../../assert.ts";
import { LAYOUT_BYTES_MAX, SEATS_PER_LAYOUT_MAX } from "../../constants.ts";
import { KEY_SEPARATOR } from "../composite-keys.ts";
import type { LayoutDocument } from "../layout-document.ts";
import { documentBytes } from "./layout-json.ts";
import { duplicate, type FieldError } from "../../results.ts";
import type { LayoutBody } from "../../shapes/bodies.ts";
import { lowerGuid } from "./guids.ts";

/** Enough for a person to see what is wrong; a layout may have a hundred thousand objects. */
const ERRORS_MAX = 100;

/** Cost: O(objects of the document). */
export function checkDocument(document: LayoutDocument, body: LayoutBody): FieldError[] {
  const report = new Report(body);
  if (document.seats.length > SEATS_PER_LAYOUT_MAX) {
    const message = `a layout has at most ${SEATS_PER_LAYOUT_MAX} seats`;
    return [{ field: "seats", code: "SIZE", message, rejectedValue: document.seats.length }];
  }
  const bytes = documentBytes(document);
  if (bytes > LAYOUT_BYTES_MAX) {
    const message = `a layout has at most ${LAYOUT_BYTES_MAX} bytes, its drawing members included`;
    return [{ field: "", code: "SIZE", message, rejectedValue: bytes }];
  }
  checkGuids(document, report);
  checkSectors(document, report);
  checkRows(document, report);
  checkSeats(document, report);
  assert(report.errors.length <= ERRORS_MAX, "a refusal has a bounded number of errors");
  return report.errors;
}

type Member = "sectors" | "rows" | "seats";

/** Collects errors, each with the position of its object in the request. */
class Report {
  readonly errors: FieldError[] = [];
  readonly #places: Readonly<Record<Member, Map<string, number>>>;

  constructor(body: LayoutBody) {
    const places = (objects: readonly { guid: string }[] | null | undefined) =>
      new Map((objects ?? []).map(({ guid }, i) => [lowerGuid(guid), i]));
    this.#places = {
      sectors: places(body.sectors),
      rows: places(body.rows),
      seats: places(body.seats),
    };
  }

  hasSent(member: Member, guid: string): boolean {
    return this.#places[member].has(guid);
  }

  add(member: Member, guid: string, error: FieldError): void {
    if (this.errors.length >= ERRORS_MAX) return;
    const place = this.#places[member].get(guid);
    const object = place === undefined ? member : `${member}[${place}]`;
    this.errors.push({ ...error, field: `${object}.${error.field}` });
  }
}

/** Of two objects with one guid, the later one that was sent is reported. */
function checkGuids({ sectors, rows, seats }: LayoutDocument, report: Report): void {
  const members = new Map<string, Member>();
  const check = (member: Member, guid: string) => {
    const other = members.get(guid);
    members.set(guid, member);
    if (other === undefined) return;
    const reported = report.hasSent(member, guid) ? member : other;
    report.add(reported, guid, duplicate("guid", guid));
  };
  for (const { guid } of sectors) check("sectors", guid);
  for (const { guid } of rows) check("rows", guid);
  for (const { guid } of seats) check("seats", guid);
}

function checkSectors({ sectors }: LayoutDocument, report: Report): void {
  const names = new Set<string>();
  for (const { guid, name } of sectors) {
    checkLabel("sectors", guid, { field: "name", label: name }, report);
    if (names.has(name)) {
      report.add("sectors", guid, duplicate("name", name, "is the name of another section"));
    }
    names.add(name);
  }
}

function checkRows({ sectors, rows }: LayoutDocument, report: Report): void {
  const sectorOf = new Map(sectors.map((sector) => [sector.guid, sector]));
  const labels = new Set<string>();
  for (const { guid, sectorGuid, rowNumber } of rows) {
    checkLabel("rows", guid, { field: "rowNumber", label: rowNumber }, report);
    const sector = sectorOf.get(sectorGuid);
    if (sector === undefined) {
      const message = "there is no such sector";
      const error = { field: "sectorGuid", code: "NOT_FOUND", message, rejectedValue: sectorGuid };
      report.add("rows", guid, error);
    } else if (sector.ga) {
      reportRowOfArea(guid, sectorGuid, report);
    }
    const key = `${sectorGuid}${KEY_SEPARATOR}${rowNumber}`;
    if (labels.has(key)) {
      report.add("rows", guid, duplicate("rowNumber", rowNumber, "appears twice in the section"));
    }
    labels.add(key);
  }
}

/** Reports at the row when it was sent, else at the sector that became an area. */
function reportRowOfArea(rowGuid: string, sectorGuid: string, report: Report): void {
  const error = { code: "CONFLICT", message: "a general-admission area has no rows" };
  if (report.hasSent("rows", rowGuid)) {
    report.add("rows", rowGuid, { ...error, field: "sectorGuid", rejectedValue: sectorGuid });
  } else {
    report.add("sectors", sectorGuid, { ...error, field: "ga", rejectedValue: true });
  }
}

function checkSeats({ rows, seats }: LayoutDocument, report: Report): void {
  const known = new Set(rows.map(({ guid }) => guid));
  const labels = new Set<string>();
  for (const { guid, rowGuid, name } of seats) {
    checkLabel("seats", guid, { field: "name", label: name }, report);
    if (!known.has(rowGuid)) {
      const message = "there is no such row";
      const error = { field: "rowGuid", code: "NOT_FOUND", message, rejectedValue: rowGuid };
      report.add("seats", guid, error);
    }
    const key = `${rowGuid}${KEY_SEPARATOR}${name}`;
    if (labels.has(key)) {
      report.add("seats", guid, duplicate("name", name, "appears twice in the row"));
    }
    labels.add(key);
  }
}

function checkLabel(
  member: Member,
  guid: string,
  { field, label }: { field: string; label: string },
  report: Report,
): void {
  if (!label.includes(KEY_SEPARATOR)) return;
  const message = `must not contain "${KEY_SEPARATOR}", which composite keys use`;
  report.add(member, guid, { field, code: "PATTERN", message, rejectedValue: label });
}
