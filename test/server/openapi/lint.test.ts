/** The OpenAPI document passes the recommended rules of Redocly. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openApiDocument } from "../../../server/docs/openapi.ts";
import { PLATFORM_ROUTES } from "../../../server/routes/organizations.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { ROOT, temporaryFolder } from "../../support/server-process.ts";

interface Report {
  readonly totals: { readonly errors: number; readonly ignored: number };
  readonly problems: readonly { readonly ruleId: string; readonly message: string }[];
}

/** Both are paths of the interface. An id is a number, so they never mean the same request. */
const AMBIGUOUS =
  "no-ambiguous-paths: Paths should resolve unambiguously. Found two ambiguous paths: " +
  "`/api/private/v2.0/schemas/{id}/layout` and `/api/private/v2.0/schemas/clone/{id}`.";
/** The tool does not know that 101 is the success of a handshake. */
const NO_SUCCESS = "operation-2xx-response: Operation must have at least one `2XX` response.";

test("the document has no faults", async () => {
  const file = path.join(temporaryFolder(), "openapi.json");
  writeFileSync(
    file,
    JSON.stringify(openApiDocument([...API_ROUTES, ...PLATFORM_ROUTES], "1.0.0")),
  );
  const redocly = path.join(ROOT, "node_modules/@redocly/cli/bin/cli.js");
  const args = [redocly, "lint", file, "--config", "redocly.yaml", "--format", "json"];
  const env = { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  const { totals, problems } = JSON.parse(stdout) as Report;
  expect(totals).toMatchObject({ errors: 0, ignored: 0 });
  expect(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`)).toEqual([
    AMBIGUOUS,
    // One for each WebSocket.
    NO_SUCCESS,
    NO_SUCCESS,
  ]);
});
