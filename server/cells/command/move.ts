/**
 * Moves an organization: looks at both cells, and takes the next step, until it is open in the
 * other cell. So a move that was interrupted anywhere goes on when the command is given again.
 */
import { type CellClient, CellError, type MoveStatus } from "./cell-client.ts";

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

type Phase = MoveStatus["phase"];

interface Cells {
  readonly from: CellClient;
  readonly to: CellClient;
  /** How far the move is in the one and in the other. */
  readonly old: MoveStatus;
  readonly present: MoveStatus;
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
function ensureOneMove(old: MoveStatus, present: MoveStatus): void {
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

function targetOf({ toCell, address }: MoveStatus): string {
  return `cell ${toCell} (${address})`;
}

function ensureMovable(old: MoveStatus, present: MoveStatus): void {
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
