/** `frontrow verify`. */
import path from "node:path";
import { AUDIT_FILE } from "../../persistence/audit/file.ts";
import { shareFolder } from "../../persistence/disk/data-folder.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import { textOf } from "../../persistence/rescue/survey.ts";
import { type Verified, verifyFolder } from "../../persistence/rescue/verify.ts";
import { WEBHOOKS_FILE } from "../../persistence/webhooks/delivery-file.ts";
import { count, Exit, say, withProgress } from "./say.ts";

/** @returns The exit code. @throws StoreFault. */
export function verify(given: string): number {
  const folder = path.resolve(given);
  const release = shareFolder(realDisk, folder);
  try {
    const verified = withProgress((onWork) => verifyFolder({ disk: realDisk, folder, onWork }));
    for (const finding of verified.findings) say(`damaged: ${textOf(finding)}`);
    describe(verified);
    if (verified.findings.length === 0) {
      say("all is well");
      return Exit.DONE;
    }
    const areOnly = (names: readonly string[]) =>
      verified.findings.every((one) => names.includes(path.basename(one.path)));
    say(
      `${count(verified.findings.length, "finding")}, nothing was changed: ` +
        (areOnly([AUDIT_FILE])
          ? "the next start sets the audit trail aside and rebuilds it"
          : areOnly([AUDIT_FILE, WEBHOOKS_FILE])
            ? "the next start sets these files aside; it rebuilds the trail, not the deliveries"
            : `frontrow repair ${given} shows what can be recovered`),
    );
    return Exit.DAMAGED;
  } finally {
    release();
  }
}

/** Prints what the folder contains. */
export function describe(verified: Verified): void {
  const { storeId, segments, snapshots, firstSequence, sequence, events, notes } = verified;
  const files = `${count(segments, "segment")}, ${count(snapshots, "good snapshot")}`;
  say(`store ${storeId}: ${files}`);
  if (verified.digest !== null) {
    say(
      `records up to ${sequence}, log from record ${firstSequence}; ${count(events, "event")}`,
      `state ${verified.digest}, identical for every way of recovery`,
    );
  }
  for (const note of notes) say(`note: ${note}`);
}
