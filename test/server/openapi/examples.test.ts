/** The examples of the API reference, played against a real server from the first to the last. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text as textOf } from "node:stream/consumers";
import { expect, test } from "vitest";
import { readTexts } from "../../../server/docs/schemas.ts";
import { PLATFORM_ROUTES } from "../../../server/routes/organizations.ts";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { Access } from "../../../server/auth/access.ts";
import { startServer } from "../../support/server-process.ts";
import { witness } from "../../support/answers/witness.ts";
import { play, record } from "./play.ts";

const TENANT_TOKEN = "the-token-of-the-examples";
const PLATFORM_TOKEN = "the-platform-token-of-the-examples";
const isRecording = process.env["FRONTROW_RECORD"] !== undefined;

const routes = new Map(
  [...API_ROUTES, ...PLATFORM_ROUTES].map((route) => [
    `${route.method.toUpperCase()} ${route.path}`,
    route,
  ]),
);
const routeOf = new Map(
  readTexts().flatMap(({ operations }) =>
    operations.map(({ id, endpoint }) => [id, routes.get(endpoint)] as const),
  ),
);

test("every example gets the answer that the reference shows", async () => {
  const server = await startServer({
    env: { FRONTROW_TENANT_TOKEN: TENANT_TOKEN, FRONTROW_PLATFORM_TOKEN: PLATFORM_TOKEN },
  });
  let secretKey = "";
  const keyOf = (access: Access): string => {
    if (access === Access.PLATFORM) return PLATFORM_TOKEN;
    const isTenants = access === Access.TENANT || access === Access.TENANT_ORGANIZATION;
    return isTenants ? TENANT_TOKEN : secretKey;
  };
  const played = await play(async (operation, { method, target, headers, body = "" }) => {
    const route = routeOf.get(operation);
    const access = route?.access ?? Access.PUBLIC;
    const own = { "X-API-Key": keyOf(access), "Content-Type": "application/json", ...headers };
    // Unlike `fetch`, it sends the headers of a handshake.
    const length = { "Content-Length": Buffer.byteLength(body) };
    const sent = request(server.url + target, {
      method,
      headers: body === "" ? own : { ...own, ...length },
      agent: false,
    }).end(body);
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const status = answer.statusCode!;
    const text = await textOf(answer);
    const type = answer.headers["content-type"] ?? "";
    const pairs = Object.entries(answer.headers);
    const received = pairs.map(([name, value]) => [name, String(value)] as const);
    const answered = { status, type, body: text, headers: received };
    if (status !== 405) witness(route, { path: target }, answered);
    secretKey ||= /"secretKey":"([^"]+)"/.exec(text)?.[1] ?? "";
    return { status, text };
  });
  if (isRecording) record(played);
  const wrong = played.filter(({ differences }) => differences.length > 0);
  expect(
    wrong.map(({ operation, example, differences }) => [operation, example.title, differences]),
  ).toEqual([]);
});
