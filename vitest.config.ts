/** Tests run from source; two workers, since the machine that checks has two cores. */
import { defineConfig } from "vitest/config";
import { ContractReporter } from "./test/support/answers/contract-reporter.ts";

/** No file of these leaves anything in a module that another one would notice. */
const PURE = ["test/{engine,persistence,tidy}/**/*.test.ts"];
/** These hold goals for processor time, which another test beside them would raise. */
const MEASURING = ["test/server/console/figures.test.ts", "test/server/layouts/stalls.test.ts"];

// oxlint-disable-next-line import/no-default-export -- vitest finds its configuration that way.
export default defineConfig({
  test: {
    reporters: ["default", new ContractReporter()],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "pure",
          include: PURE,
          maxWorkers: 2,
          // Loading the modules again for each file takes half of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "server",
          include: ["test/**/*.test.ts"],
          exclude: [...PURE, ...MEASURING],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: MEASURING,
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
