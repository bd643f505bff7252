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
  { address, tenantId, say }: MoveOptions,
): Promise<void> {
  for (;;) {
    const [old, present] = await Promise.all([from.status(), to.status()]);
    const isWhole = present.receipt !== null && present.moveId === old.moveId;
    if (old.cell === present.cell) throw new CellError("both addresses are those of one cell");
    if (old.phase === "LEFT" && present.phase === "HERE") {
      return say(`organization ${old.organizationId} is in cell ${present.cell}`);
    }
    ensureMovable(old, present);
    if (old.phase === "HERE") {
      if (present.phase === "ARRIVING") await to.step({ step: "cancel" });
      const { parts } = await from.step({ step: "begin", address });
      say(`cell ${old.cell} refuses its changes now; it has ${parts} parts`);
    } else if (!isWhole || present.phase !== "ARRIVING") {
      await sendParts({ from, to, tenantId }, old.parts ?? 0);
      say(`cell ${present.cell} has all parts`);
    } else if (old.phase === "LEAVING") {
      await from.step({ step: "leave", receipt: present.receipt });
      say(`cell ${old.cell} redirects to ${old.address} now`);
    } else {
      await to.step({ step: "open", receipt: old.receipt });
    }
  }
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
  let next = from.part(0);
  for (let number = 0; number < count; number++) {
    const { content } = await next;
    if (number + 1 < count) next = from.part(number + 1);
    // It is awaited in the next round, unless this one fails.
    next.catch(() => {});
    await to.take(number, { content, tenantId });
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
  if ((await to.status()).phase === "ARRIVING") await to.step({ step: "cancel" });
  if (phase === "LEAVING") await from.step({ step: "cancel" });
  say(`the organization stays in cell ${cell}`);
}
