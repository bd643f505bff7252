/**
 * Tests run from source. The machine that checks has two cores; the third worker has work for them
 * while a test waits for a disk, a timeout or a process.
 */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { sqlitePackage } from "./persistence/disk/sqlite.ts";
import { ContractReporter } from "./test/support/answers/contract-reporter.ts";

/**
 * Each of these needs modules of its own, because it leads the tests of other files through a
 * gateway. All other files share the modules of their worker: to load them for each file would take
 * a third of the time. They leave nothing behind in a module or a global that another file would
 * notice.
 */
const APART = ["test/server/gateway/{booking,idempotency,isolation}.test.ts"];
const WORKERS = 3;
/** These hold goals for times, which another test beside them would raise. */
const MEASURING = ["test/server/console/figures.test.ts", "test/server/layouts/stalls.test.ts"];
/** Of a server that has rested since the run began. */
const RESTING = "test/server/process/resting/resting.test.ts";

/** Half a minute and more: begun last, one of them would keep a single worker busy in the end. */
const LONG = [
  /server\/cluster\/rolling-upgrade/,
  /fuzz\/fuzz/,
  /faults\/(disk|process|cluster)-faults/,
  /server\/(memory|process\/replies)\.test/,
  /server\/console\/prices/,
  /server\/ops\/nginx/,
  /server\/docs\/browser/,
  /sim\/simulation/,
  /server\/wire\/(smuggling|chunked)/,
  /bench\/streams/,
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((name) => name.test(moduleId));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// oxlint-disable-next-line import/no-default-export -- vitest finds its configuration that way.
export default defineConfig({
  // Tests that look into a file use the SQLite of the store.
  resolve: { alias: { "better-sqlite3": sqlitePackage(process.versions.node) } },
  test: {
    reporters: ["default", new ContractReporter()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["test/**/*.test.ts"],
          exclude: [...APART, ...MEASURING, RESTING],
          isolate: false,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "apart",
          include: APART,
          maxWorkers: WORKERS,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: [...MEASURING, RESTING],
          globalSetup: "test/server/process/resting/start.ts",
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["engine/**/*.ts", "persistence/**/*.ts"],
      reporter: ["text", "html"],
      thresholds: { branches: 98 },
    },
  },
});
