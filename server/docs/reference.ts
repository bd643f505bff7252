/**
 * The page of the API reference: Scalar over the OpenAPI document. Everything that would ask
 * another host is off; the policy of the page forbids it, too.
 */
import { htmlDocument } from "./frame.ts";
import { escapeHtml } from "./markdown.ts";
import { REFERENCE } from "./paths.ts";

const CONFIGURATION = {
  url: "/openapi.json",
  authentication: { preferredSecurityScheme: "apiKey" },
  // In the browser's local storage, so that a reload keeps the key.
  persistAuth: true,
  defaultOpenFirstTag: false,
  defaultOpenAllTags: false,
  operationTitleSource: "summary",
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  // The page follows the setting of the system, as the others do.
  hideDarkModeToggle: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  hiddenClients: ["libcurl", "clj_http", "restmethod", "webrequest", "nsurlsession", "cohttp"],
};

export function referencePage(): string {
  const configuration = escapeHtml(JSON.stringify(CONFIGURATION));
  const body = `<script id="api-reference" data-configuration="${configuration}"></script>
    <script src="/docs/reference.js"></script>`;
  return htmlDocument(REFERENCE.title, REFERENCE.path, body);
}
