/** Repairs of a folder under test, and what every one of them must do. */
import { expect } from "vitest";
import { digest } from "../../../engine/verify/digest.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import type { RepairPlan } from "../../../persistence/rescue/repair-plan.ts";
import { previewRepair, type Repaired, repairFolder } from "../../../persistence/rescue/repair.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { contentOf, StoreProcess } from "../store/store-fixture.ts";
import { history } from "./folder-fixture.ts";

/** What it would do; it changes nothing. */
export function preview(folder: string, cutAfter?: number): RepairPlan {
  const before = contentOf(folder);
  const plan = previewRepair({ disk: realDisk, folder, cutAfter });
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  return plan;
}

/**
 * Repairs, and checks what every repair must do: what was said is what happens, the folder is sound
 * after it, no byte that was there is gone, and the store goes on.
 */
export async function repaired(folder: string, cutAfter?: number): Promise<Repaired> {
  const before = contentOf(folder);
  const said = preview(folder, cutAfter);
  const done = repairFolder({ disk: realDisk, folder, cutAfter });
  expect({ ...done.plan, lost: done.plan.lost.total }).toEqual({ ...said, lost: said.lost.total });
  expect(done.verified.findings).toEqual([]);
  expect(done.verified.digest).toBe(history.digestAt(said.sequence));
  const after = [...contentOf(folder).values()].map((bytes) => bytes.toString("base64"));
  const kept = new Set(after);
  const gone = [...before].filter(([, bytes]) => !kept.has(bytes.toString("base64")));
  expect(gone.map(([name]) => name)).toEqual([]);
  const process = await StoreProcess.start({ folder, history });
  expect(process.report.sequence).toBe(said.sequence);
  expect(digest(process.state)).toBe(history.digestAt(said.sequence));
  await process.commit(3);
  await process.close();
  expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
  return done;
}
