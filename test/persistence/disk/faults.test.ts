/** The message of a fault is one line with the cause and the remedy; it has an exit code. */
import { expect, test } from "vitest";
import {
  DiskFault,
  ExitCode,
  FolderRefused,
  LogCorrupt,
  LogFailed,
  Malformed,
  StoreFault,
  only,
} from "../../../persistence/disk/faults.ts";

const disk = new DiskFault("sync", "/data/wal/1.log", "EIO", { cause: new Error("cause") });

test("the message of a fault says what happened, where, and what to do", () => {
  const faults: [StoreFault, ExitCode, string][] = [
    [
      disk,
      74,
      "cannot sync /data/wal/1.log: EIO; the device reports errors: check it before starting again",
    ],
    [
      new LogFailed(disk),
      70,
      `the log failed: ${disk.message}; then restart: everything acknowledged is kept`,
    ],
    [
      new LogCorrupt("/data/wal/1.log", 512, "epoch 2", "1"),
      78,
      "the log is damaged: /data/wal/1.log at byte 512: expected epoch 2, found 1; " +
        "nothing was changed: put the undamaged file back from a copy, or restore a backup; " +
        "`frontrow verify` lists all damage, `frontrow repair` saves the rest",
    ],
    [
      new FolderRefused("/data", "it is another's: choose another", ExitCode.TEMPORARY),
      75,
      "cannot use the data folder /data: it is another's: choose another",
    ],
  ];
  for (const [fault, exitCode, message] of faults) {
    expect(fault).toBeInstanceOf(StoreFault);
    expect(fault.exitCode).toBe(exitCode);
    expect(fault.message).toBe(message);
    expect(fault.message).not.toContain("\n");
    expect(fault.name).toBe(fault.constructor.name);
  }
});

test("an unknown error code has a general hint", () => {
  const { message } = new DiskFault("read", "/data", "EWEIRD");
  expect(message).toBe("cannot read /data: EWEIRD; see the error codes of the operating system");
});

test("only() accepts errors of the listed classes, and rethrows any other", () => {
  const other = new TypeError("a mistake of ours");
  for (const known of [new Malformed("a", "b"), disk]) {
    expect(() => only(known, Malformed, DiskFault)).not.toThrow();
  }
  for (const unknown of [other, disk, "a text", null]) {
    let passedOn: unknown = "nothing";
    try {
      only(unknown, Malformed, LogFailed);
    } catch (error) {
      passedOn = error;
    }
    expect(passedOn).toBe(unknown);
  }
});
