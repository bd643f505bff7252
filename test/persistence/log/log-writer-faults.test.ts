/** The journal on a failing disk: acknowledgements, reports, and the next start. */
import { expect, test } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import { LogFailed } from "../../../persistence/disk/faults.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import type { Operation, Outcome } from "../../support/disk/process-disk.ts";
import { LogProcess, emptyDisk, settle } from "./log-fixture.ts";

/** Gives another outcome to the k-th operation of this kind on the log. */
function atLogStep(disk: FakeDisk, operation: Operation, k: number, outcome: Outcome): void {
  let seen = 0;
  disk.decide = (step) => {
    if (step.operation !== operation || !step.path.endsWith(".log")) return null;
    seen += 1;
    return seen === k ? outcome : null;
  };
}

test("after a failed sync nothing is acknowledged, and the failure is reported once", async () => {
  for (let k = 1; k <= 6; k++) {
    const disk = emptyDisk();
    const log = await LogProcess.start({ disk });
    atLogStep(disk, "sync", k, { code: "EIO" });
    for (let i = 0; i < 10; i++) await log.commit(2);
    expect(log.durable).toHaveLength(k - 1);
    expect(log.failures).toHaveLength(1);
    expect(log.failures[0]).toMatchObject({ exitCode: 70, cause: { code: "EIO" } });
    expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
    await log.time.pass(5_000);
    expect(log.durable).toHaveLength(k - 1);
    await expect(log.close()).rejects.toThrow(LogFailed);
    expect(log.failures).toHaveLength(1);
  }
});

test("a short write is completed by a second one", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  atLogStep(disk, "write", 1, { writtenBytes: 100 });
  await log.commit(3);
  expect(log.durable).toEqual([3]);
  disk.kill();
  const next = await LogProcess.start({ disk });
  expect(next.report).toMatchObject({ records: 3, tornBytes: 0 });
});

test("a short write whose rest fails the log is a torn end for the next start", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  let writes = 0;
  disk.decide = ({ path, operation }) => {
    if (operation !== "write" || !path.endsWith(".log")) return null;
    writes += 1;
    return writes === 1 ? { writtenBytes: 100 } : { code: "ENOSPC" };
  };
  await log.commit(3);
  expect(log.durable).toEqual([1]);
  expect(log.failures).toMatchObject([{ cause: { code: "ENOSPC", operation: "write" } }]);
  disk.kill();
  disk.decide = () => null;
  const next = await LogProcess.start({ disk });
  expect(next.report).toMatchObject({ records: 1, tornBytes: 100 });
});

test("close fails if a file cannot be closed", async () => {
  const disk = emptyDisk();
  const log = await LogProcess.start({ disk });
  await log.commit(1);
  disk.decide = ({ operation }) => (operation === "close" ? { code: "EIO" } : null);
  await expect(log.close()).rejects.toMatchObject({ cause: { operation: "close" } });
});

test("a segment that cannot be started fails the log", async () => {
  for (const operation of ["write", "sync", "rename", "close"] as const) {
    const disk = emptyDisk();
    const log = await LogProcess.start({ disk, segmentBytes: 16 * 1024 });
    await settle();
    disk.decide = (step) =>
      step.operation === operation && (operation === "close" || step.path.includes("spare"))
        ? { code: "EIO" }
        : null;
    for (let i = 0; i < 40 && log.failures.length === 0; i++) await log.commit(1);
    expect(log.failures).toMatchObject([{ cause: { code: "EIO", operation } }]);
    const { acknowledged } = log;
    disk.kill();
    disk.decide = () => null;
    const next = await LogProcess.start({ disk });
    expect(next.report.records).toBeGreaterThanOrEqual(acknowledged);
  }
});
