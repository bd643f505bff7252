/**
 * The reference page: Swagger UI with the OpenAPI document. Its files are read once at start into
 * an allow-list, so a request never names a file.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

export interface StaticFile {
  readonly type: string;
  readonly body: string | Uint8Array;
}

const HTML_TYPE = "text/html; charset=utf-8";
const SCRIPT_TYPE = "text/javascript; charset=utf-8";

const ASSETS: Readonly<Record<string, string>> = {
  "swagger-ui.css": "text/css; charset=utf-8",
  "swagger-ui-bundle.js": SCRIPT_TYPE,
  "favicon-32x32.png": "image/png",
};

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Frontrow reference</title>
    <link rel="icon" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  validatorUrl: null,
});
`;

type Path = `/${string}`;

/** By path. Cost: reads 2 MB, once. */
export function docsFiles(): ReadonlyMap<Path, StaticFile> {
  const folder = path.dirname(
    createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"),
  );
  const files = new Map<Path, StaticFile>([
    ["/docs", { type: HTML_TYPE, body: PAGE }],
    ["/docs/start.js", { type: SCRIPT_TYPE, body: START }],
  ]);
  for (const [name, type] of Object.entries(ASSETS)) {
    files.set(`/docs/${name}`, { type, body: readFileSync(path.join(folder, name)) });
  }
  return files;
}
