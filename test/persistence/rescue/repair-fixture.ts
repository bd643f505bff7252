/** Repairs of a folder under test, and the checks after each of them. */
import { expect } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import type { RepairPlan } from "../../../persistence/rescue/repair-plan.ts";
import { previewRepair, type Repaired, repairFolder } from "../../../persistence/rescue/repair.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { contentOf, StoreProcess } from "../store/store-fixture.ts";
import { history } from "./folder-fixture.ts";

/** The plan of the repair; it changes nothing. */
export function preview(folder: string, cutAfter?: number): RepairPlan {
  const before = contentOf(folder);
  const { plan } = previewRepair({ disk: realDisk, folder, cutAfter });
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  return plan;
}

/**
 * Repairs, and checks that the plan is carried out, that the folder is sound, that no byte is lost,
 * and that the store can be used.
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
