/**
 * The versions of the formats in a data folder, in one place. The version of the store rises with
 * any other and is checked first, so an open folder has only readable versions.
 * See `FORMATS.md` beside this folder.
 */
import { ExitCode, StoreFault } from "./faults.ts";

interface Format {
  /** In messages. */
  readonly name: string;
  /** The written version. */
  readonly version: number;
  /** The oldest readable version. */
  readonly oldest: number;
}

export const FORMATS = {
  store: { name: "store", version: 2, oldest: 1 },
  log: { name: "log", version: 1, oldest: 1 },
  record: { name: "log record", version: 2, oldest: 1 },
  snapshot: { name: "snapshot", version: 1, oldest: 1 },
  image: { name: "snapshot image", version: 2, oldest: 1 },
  trail: { name: "audit trail", version: 2, oldest: 1 },
  deliveries: { name: "deliveries of webhooks", version: 1, oldest: 1 },
} as const satisfies Readonly<Record<string, Format>>;

/** A store of another version. It is not damaged; nothing was changed. */
export class OtherFormat extends StoreFault {
  override readonly name = "OtherFormat";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(format: Format, found: unknown) {
    const { name, version, oldest } = format;
    const reads = oldest === version ? `version ${version}` : `versions ${oldest} to ${version}`;
    const isNewer = typeof found === "number" && found > version;
    const remedy = isNewer
      ? "start the Frontrow that wrote it, or restore a backup from before the upgrade"
      : "start a Frontrow of a version in between first, which upgrades it";
    super(
      `the ${name} format of this data folder is version ${String(found)}, and this Frontrow ` +
        `reads ${reads}: ${remedy}; it is not damaged, and nothing was changed`,
    );
  }
}

/** @throws OtherFormat. */
export function ensureFormat(format: Format, found: unknown): void {
  const { version, oldest } = format;
  const isReadable = typeof found === "number" && found >= oldest && found <= version;
  if (!isReadable) throw new OtherFormat(format, found);
}
