/** Tests run from source; two workers, since the machine that checks has two cores. */
import { defineConfig } from "vitest/config";
import { ContractReporter } from "./test/support/answers/contract-reporter.ts";

// oxlint-disable-next-line import/no-default-export -- vitest finds its configuration that way.
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new ContractReporter()],
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    coverage: {
      provider: "v8",
      include: ["engine/**/*.ts", "persistence/**/*.ts"],
      reporter: ["text", "html"],
      thresholds: { branches: 98 },
    },
  },
});
