/**
 * Moves an organization: looks at both cells, and takes the next step, until it is open in the
 * other cell. So a move that was interrupted anywhere goes on when the command is given again.
 */
import { CELL_IDS, CELL_MAX } from "../../engine/cells.ts";
import type { MoveView } from "./moves.ts";

export interface MoveOptions {
  /** Where clients find the other cell. */
  readonly address: string;
  /** Of the other cell; it needs none when it has one tenant. */
  readonly tenantId?: number | undefined;
  readonly say: (line: string) => void;
}

/** @throws CellError. */
export async function moveOrganization(
  from: CellClient,
  to: CellClient,
  options: MoveOptions,
): Promise<void> {
  let phase: Phase | null = "ABSENT";
  try {
    while (phase !== null) {
      // oxlint-disable-next-line no-await-in-loop -- a step begins where the one before it ended
      const [old, present] = await Promise.all([from.status(), to.status()]);
      ({ phase } = old);
      // oxlint-disable-next-line no-await-in-loop -- as above
      phase = await takeStep({ from, to, old, present }, options);
    }
  } catch (error) {
    // The step may have been taken though its answer is lost.
    const now = await from.status().catch(() => ({ phase }));
    if (now.phase !== "LEAVING") throw error;
    const name = `organization ${from.organizationId}`;
    const hint = `${name} still refuses changes: repeat the command, or give it with --cancel`;
    throw new CellError(`${(error as Error).message}\n${hint}`);
  }
}

type Phase = MoveView["phase"];

interface Cells {
  readonly from: CellClient;
  readonly to: CellClient;
  /** How far the move is in the one and in the other. */
  readonly old: MoveView;
  readonly present: MoveView;
}

/** @returns The phase in the old cell; null when no step is left. */
async function takeStep(
  { from, to, old, present }: Cells,
  { address, tenantId, say }: MoveOptions,
): Promise<Phase | null> {
  const isWhole = present.receipt !== null && present.moveId === old.moveId;
  if (old.cell === present.cell) throw new CellError("both addresses are those of one cell");
  ensureOneMove(old, present);
  if (old.phase === "LEFT" && present.phase === "HERE") {
    say(`organization ${old.organizationId} is in cell ${present.cell}`);
    return null;
  }
  ensureMovable(old, present);
  if (old.phase === "HERE") {
    if (present.phase === "ARRIVING") await to.step({ step: "cancel" });
    await to.take(0, { ...(await from.part(0)), tenantId, isTrial: true });
    const { parts, phase } = await from.step({ step: "begin", toCell: present.cell, address });
    say(`cell ${old.cell} refuses its changes now; it has ${parts} parts`);
    return phase;
  } else if (!isWhole || present.phase !== "ARRIVING") {
    await sendParts({ from, to, tenantId }, old.parts ?? 0);
    say(`cell ${present.cell} has all parts`);
  } else if (old.phase === "LEAVING") {
    await from.step({ step: "leave", receipt: present.receipt });
    say(`cell ${old.cell} redirects to ${old.address} now`);
    return "LEFT";
  } else {
    await to.step({ step: "open", receipt: old.receipt });
  }
  return old.phase;
}

/** No other cell takes what is on its way to one, or is there already. */
function ensureOneMove(old: MoveView, present: MoveView): void {
  const name = `organization ${old.organizationId}`;
  const isElsewhere = old.toCell !== present.cell;
  if (old.phase === "LEAVING" && isElsewhere) {
    throw new CellError(`${name} is about to leave for ${targetOf(old)}; give that cell with --to`);
  }
  if (old.phase !== "LEFT") return;
  const gone = isElsewhere ? old : present;
  if (gone.phase !== "LEFT") return;
  throw new CellError(`${name} has left for ${targetOf(gone)}; give that cell with --from`);
}

function targetOf({ toCell, address }: MoveView): string {
  return `cell ${toCell} (${address})`;
}

function ensureMovable(old: MoveView, present: MoveView): void {
  if (old.phase === "ABSENT" || old.phase === "ARRIVING") {
    throw new CellError(`the organization is not in cell ${old.cell}`);
  }
  if (present.phase === "HERE" || present.phase === "LEAVING") {
    throw new CellError(`the organization is in cell ${present.cell} already`);
  }
}

interface Transfer {
  readonly from: CellClient;
  readonly to: CellClient;
  readonly tenantId: number | undefined;
}

/** A part is read while the one before it is stored. */
async function sendParts({ from, to, tenantId }: Transfer, count: number): Promise<void> {
  let part = await from.part(0);
  for (let number = 0; number < count; number++) {
    const next = number + 1 < count ? from.part(number + 1) : part;
    const { content } = part;
    // oxlint-disable-next-line no-await-in-loop -- the other cell takes the parts in order
    [part] = await Promise.all([next, to.take(number, { content, tenantId })]);
  }
}

/** Takes a move back that is not complete: the organization is open in the old cell again. */
export async function cancelMove(
  from: CellClient,
  to: CellClient,
  say: (line: string) => void,
): Promise<void> {
  const { phase, cell } = await from.status();
  if (phase === "LEFT") {
    throw new CellError("it has left for good: give the command without --cancel to complete it");
  }
  // First, so that it is open again even when the other cell does not answer.
  if (phase === "LEAVING") await from.step({ step: "cancel" });
  say(`the organization stays in cell ${cell}`);
  if ((await to.status()).phase === "ARRIVING") await to.step({ step: "cancel" });
}

/** Removes from the old cell all but the redirect. */
export async function clearOld(from: CellClient, say: (line: string) => void): Promise<void> {
  const { organizationId, cell, address } = await from.step({ step: "clear" });
  say(`cell ${cell} has nothing of organization ${organizationId} but the redirect to ${address}`);
}

// What the command `frontrow move` asks of a cell.

/** A refusal, or no answer. */
export class CellError extends Error {
  override readonly name = "CellError";
}

const TIMEOUT_MS = 120_000;

const NO_FRONTROW = "and no answer of Frontrow: is the address that of a cell?";

export class CellClient {
  readonly url: string;
  readonly organizationId: number;
  readonly #path: string;
  readonly #token: string;

  /** @param url - Scheme, host and port. */
  constructor(url: string, token: string, organizationId: number) {
    this.url = url;
    this.organizationId = organizationId;
    this.#token = token;
    this.#path = `/api/admin/organizations/${organizationId}/move`;
  }

  status(): Promise<MoveView> {
    return this.#ask("GET", "");
  }

  step(step: object): Promise<MoveView> {
    return this.#ask("POST", "", step);
  }

  part(number: number): Promise<{ readonly content: string }> {
    return this.#ask("GET", `/parts/${number}`);
  }

  take(number: number, part: object): Promise<MoveView> {
    return this.#ask("PUT", `/parts/${number}`, part);
  }

  /** @throws CellError. */
  async #ask<Body>(method: string, path: string, body?: object): Promise<Body> {
    const call = `${method} ${this.url}${this.#path}${path}`;
    const headers = { "X-API-Key": this.#token, "Content-Type": "application/json" };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const answer = await fetch(this.url + this.#path + path, {
        method,
        headers,
        signal,
        ...sent,
      });
      const content = membersOf(await answer.text());
      const { errorCode, detail } = content;
      if (answer.status === 200 && ("phase" in content || "content" in content)) {
        return content as Body;
      }
      const isProblem = typeof errorCode === "string" && typeof detail === "string";
      const reason = isProblem ? `${errorCode}: ${detail}` : NO_FRONTROW;
      throw new CellError(`${call}: ${answer.status} ${reason}`);
    } catch (error) {
      if (error instanceof CellError) throw error;
      const { message, cause } = error as Error;
      throw new CellError(`${call}: ${cause instanceof Error ? cause.message : message}`);
    }
  }
}

/** @returns None for a text that is no JSON object. */
function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    // Another server answers, or a proxy.
    return {};
  }
}

// A list of cells and of organizations that have moved, as the operator writes it.

/** A cell and where its server listens. */
export interface Cell {
  readonly cell: number;
  /** Host and port. */
  readonly address: string;
}

export interface CellList {
  readonly cells: readonly Cell[];
  /** By organization id: the cell to which it has moved. */
  readonly moved: ReadonlyMap<string, number>;
}

const CELL = /^(\d{1,4})=((?:[\w.-]+|\[[\da-f:]+\]):(\d{1,5}))$/i;
const PORT_MAX = 65_535;
const MOVED = /^([1-9]\d{0,15})=(\d{1,4})$/;

/** @throws Error that says what is wrong. */
export function readCellList(cells: readonly string[], moved: readonly string[]): CellList {
  const list: Cell[] = [];
  for (const text of cells) {
    const [, cell, address, port] = CELL.exec(text) ?? [];
    if (cell === undefined) throw new Error(`--cell ${text}: it must be like 7=10.0.0.7:8080`);
    if (Number(cell) > CELL_MAX) throw new Error(`--cell ${text}: the last cell is ${CELL_MAX}`);
    if (!isPort(Number(port))) throw new Error(`--cell ${text}: a port is from 1 to ${PORT_MAX}`);
    list.push({ cell: Number(cell), address: address! });
  }
  const numbers = new Set<number>();
  for (const { cell } of list) {
    if (numbers.has(cell)) throw new Error(`--cell ${cell}=...: the cell is named twice`);
    numbers.add(cell);
  }
  if (numbers.size === 0) throw new Error("no cell; name each one with --cell");
  const exceptions = new Map<string, number>();
  for (const text of moved) {
    const [, organization, cell] = MOVED.exec(text) ?? [];
    if (organization === undefined) throw new Error(`--moved ${text}: it must be like 48=7`);
    if (!numbers.has(Number(cell))) throw new Error(`--moved ${text}: there is no such --cell`);
    if (exceptions.has(organization)) {
      throw new Error(`--moved ${text}: the organization is named twice`);
    }
    exceptions.set(organization, Number(cell));
  }
  return { cells: list.sort((a, b) => a.cell - b.cell), moved: exceptions };
}

function isPort(port: number): boolean {
  return port >= 1 && port <= PORT_MAX;
}

// Route tables for proxies. A key reads `fro_<organization id>_...`, and the id shows the cell that
// gave it out, so a proxy needs to know only the cells and the organizations that have moved.

/** The digits of a place in a cell. */
const DIGITS = String(CELL_IDS).length - 1;

/** A map file: organizations that have moved by their id, cells by `cell:` and their number. */
export function haproxyMap({ cells, moved }: CellList): string {
  const lines = [
    "# Written by frontrow routes. Keys: the id of an organization that has moved, or its cell.",
    ...[...moved].map(([organization, cell]) => `${organization} cell${cell}`),
    ...cells.map(({ cell }) => `cell:${cell} cell${cell}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** Maps and upstreams for the `http` block. nginx looks for an exact id before the patterns. */
export function nginxMaps({ cells, moved }: CellList): string {
  const first = cells[0]!;
  const upstreams = cells.flatMap(({ cell, address }) => [
    `upstream cell${cell} {`,
    `    server ${address};`,
    "    keepalive 64;",
    "    keepalive_timeout 5s;",
    "}",
  ]);
  const lines = [
    "# Written by frontrow routes.",
    ...upstreams,
    "map $http_authorization $frontrow_bearer {",
    '    "~^[Bb]earer +(?<bearer>\\S+)$" $bearer;',
    '    default "";',
    "}",
    "map $http_x_api_key$frontrow_bearer $frontrow_key_organization {",
    '    "~^fro_(?<organization>[0-9]+)_" $organization;',
    "    default $http_x_organization_id;",
    "}",
    "map $frontrow_key_organization $frontrow_cell {",
    ...[...moved].map(([organization, cell]) => `    "${organization}" cell${cell};`),
    ...cells.map(({ cell }) => `    "${patternOf(cell)}" cell${cell};`),
    `    default cell${first.cell};`,
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function patternOf(cell: number): string {
  return cell === 0 ? `~^[0-9]{1,${DIGITS}}$` : `~^${cell}[0-9]{${DIGITS}}$`;
}
