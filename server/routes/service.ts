/** What every service has: health, metrics, the OpenAPI document and its page. No key. */
import { isRefused, Result } from "../../engine/results.ts";
import { ANYTHING, RECORD, TEXT } from "../../engine/schema.ts";
import { Access, bearerOf } from "../auth/access.ts";
import { isSame } from "../auth/keys.ts";
import { consoleFiles } from "../docs/package-files.ts";
import { DOCS_PATHS } from "../docs/pages.ts";
import { type Context, type Handled, type Route, route } from "../api/route.ts";
import type { Services } from "../api/services.ts";
import { type Answer, answer, FrontResult, HEALTHY, page, redirect } from "../http/answers.ts";
import type { RequestHead } from "../http/front.ts";
import { HEALTH } from "../api/entities.ts";

const BASE = { tag: "Service", access: Access.PUBLIC, durable: false };

export const HEALTH_ROUTES: readonly Route[] = [
  route(BASE, "GET /healthz", {
    answers: { 200: HEALTH },
    problems: [],
    handle: () => HEALTHY,
  }),
  route(BASE, "GET /readyz", {
    answers: { 200: HEALTH },
    problems: [503],
    handle: ({ services }) => readiness(services),
  }),
  route(BASE, "GET /metrics", {
    answers: { 200: TEXT },
    media: "text/plain",
    problems: [403],
    handle: scrape,
  }),
];

/** The link of a gateway. Clients do not use it, so it is not in the documents. */
export const GATEWAY_ROUTE: Route = route(BASE, "GET /api/internal/gateway", {
  answers: { 101: null },
  problems: [403, 404],
  handle: ({ services, head }) => {
    const isHandshake = typeof head.protocols === "string";
    if (services.gateways !== null && isHandshake) return services.gateways.open(head);
    return { refused: Result.ENTITY_NOT_FOUND, detail: "There is no such path." };
  },
});

/** A copy of the store, for a host that joins; not in the documents either. */
export const COPY_ROUTE: Route = route(BASE, "GET /api/internal/copy", {
  answers: { 101: null },
  problems: [403, 404, 503],
  handle: ({ services: { copies, badKeys, engine }, head }) => {
    const handled = copies.open(head);
    if (isRefused(handled) && handled.refused === Result.ACCESS_DENIED) {
      badKeys.failed(head.address(), engine.nowMs());
    }
    return handled;
  },
});

async function scrape({ services, authorization }: Context): Promise<Handled> {
  const { metrics, metricsToken } = services;
  if (metricsToken !== null && !isSame(bearerOf(authorization), metricsToken)) {
    return { refused: Result.ACCESS_DENIED, detail: "The metrics token is missing or not valid." };
  }
  return page(metrics.contentType, await metrics.text());
}

function readiness({ isReady, notReady, engine }: Services): Handled {
  if (isReady() && engine.isWritable) return HEALTHY;
  if (!isReady() && notReady !== undefined) return notReady();
  return {
    refused: FrontResult.NOT_READY,
    detail: "The service does not take changes just now: try again shortly.",
  };
}

/**
 * The documents describe these routes and their own. They and the pages are made, and the modules
 * for that are loaded, at the first request: it would take a third of the start.
 */
export function documentRoutes(routes: readonly Route[], version: string): readonly Route[] {
  const describeMessages = async () => {
    const { asyncApiDocument } = await import("../docs/openapi.ts");
    return answer(200, asyncApiDocument(version));
  };
  let messages: Promise<Answer> | undefined;
  const asyncDocument = route(BASE, "GET /asyncapi.json", {
    answers: { 200: RECORD },
    problems: [],
    handle: () => (messages ??= describeMessages()),
  });
  const describe = async () => {
    const { openApiDocument } = await import("../docs/openapi.ts");
    return answer(200, openApiDocument([...routes, document, asyncDocument], version));
  };
  let described: Promise<Answer> | undefined;
  const document: Route = route(BASE, "GET /openapi.json", {
    answers: { 200: RECORD },
    problems: [],
    handle: () => (described ??= describe()),
  });
  const pages = DOCS_PATHS.map((path) =>
    route(BASE, `GET /${path.slice(1)}`, {
      answers: { 200: ANYTHING },
      problems: [],
      handle: async () => (await import("../docs/site.ts")).docsAnswer(path),
    }),
  );
  const home = route(BASE, "GET /", {
    answers: { 302: null },
    problems: [],
    handle: () => redirect("/console"),
  });
  return [document, asyncDocument, home, ...pages, ...consoleRoutes()];
}

/**
 * The page for a person whose address below `/docs` leads nowhere.
 *
 * @returns Null for programs, other methods and other paths: they get a problem document.
 */
export function missingPage({ method, path, accept = "" }: RequestHead): Promise<Handled> | null {
  const isPage = path.startsWith("/docs/") && (method === "get" || method === "head");
  if (!isPage || !/\btext\/html\b/i.test(accept)) return null;
  return import("../docs/site.ts").then(({ missingPageAnswer }) => missingPageAnswer());
}

function consoleRoutes(): readonly Route[] {
  return consoleFiles().map(({ path, answer: answerFor }) =>
    route(BASE, `GET /${path.slice(1)}`, {
      answers: { 200: ANYTHING },
      problems: [],
      handle: ({ head }) => answerFor(head.acceptEncoding),
    }),
  );
}
