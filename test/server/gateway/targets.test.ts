/**
 * Request targets that a URL parser, a proxy or a browser takes for a host or another path: engine
 * and gateway refuse each with the same answer, and connect to nobody.
 */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startDisturbed } from "../../support/gateway/disturbed-engine.ts";
import { HANDSHAKE, headOf, sendRaw } from "../../support/gateway/raw.ts";
import { GatewayStage } from "../../support/gateway/stage.ts";

/** `@` stands for another listening host. */
const REFUSED = {
  "MALFORMED_REQUEST 400": [
    "//",
    "//@",
    "//@/",
    "//@/latest/meta-data",
    "//user:pw%40@/",
    "//h:99999/",
    "///",
    "///@/",
    "////@/x",
    "//healthz",
    "/%2f@/",
    "/%2F@/x",
    "/%2f",
    "/%2f%2F@/",
    "/\\@/",
    "/\\\\@/x",
    "/\\/@/",
    "/\\",
    "/x\\y",
    "/x\\..\\metrics",
    "/..\\metrics",
    "/%5c@/",
    "/%5C%5c@/",
    "/x%5C..%5Cmetrics",
    "/x/y%5c",
    "/.",
    "/..",
    "/./",
    "/../",
    "/./metrics",
    "/../metrics",
    "/./api/internal/gateway",
    "/x/../api/internal/gateway",
    "/x/../../metrics",
    "/x/../metrics",
    "/x/./y",
    "/x/..",
    "/x/.",
    "/healthz/.",
    "/healthz/..?x=y",
    "/.?x=y",
    "/x/..#y",
    "/%2e",
    "/%2E%2e",
    "/.%2e/metrics",
    "/%2e./metrics",
    "/%2E%2E/metrics",
    "/x/%2e/metrics",
    "/x/%2E%2e",
    "/x/%2e%2e?x=y",
    "/x%2f..",
    "/x%2F.%2fmetrics",
    "/x%2f%2e%2e%2fmetrics",
    "/x/..%2Fmetrics",
    "/api/private/v2.0/events/../keys/rotate",
    "/api/private/v2.0/events/%2e%2e/stream",
    "/api/private/v2.0/booking/../../../metrics",
    "/api/private/v2.0/booking/./socket",
  ],
  /** uWS takes paths alone. */
  " 505": [
    "",
    "*",
    "x",
    "?x",
    "#x",
    ".",
    "..",
    "@",
    "user@",
    "http://@/",
    "HTTP://@/x",
    "https://@/",
    "ws://@/",
    "ftp://@/",
    "\\\\@/",
    "\\/@/",
  ],
};

/** Nobody takes these for another path. */
const LOOKALIKES = [
  "/healthz?x=/../",
  "/healthz?x=\\..\\",
  "/healthz?x=//@/",
  "/x//y",
  "/...",
  "/..x",
  "/x..",
  "/.well-known/security.txt",
  "/x/..;y/metrics",
  "/x/%252e%252e/metrics",
  "/x%2fy",
  "/#x",
];

/** Another host of the network. @returns Its address, and how many connected to it. */
async function otherHost() {
  const connections = { count: 0 };
  const server = createServer((socket) => {
    connections.count += 1;
    socket.destroy();
  }).listen(0, "127.0.0.2");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { address: `127.0.0.2:${(server.address() as AddressInfo).port}`, connections };
}

test("a target that may name a host or another path: the same refusal by engine and gateway", async () => {
  const stage = await GatewayStage.start();
  const { address, connections } = await otherHost();
  const shapes = Object.entries(REFUSED).flatMap(([refusal, targets]) =>
    targets.map((target) => ({ refusal, target: target.replace("@", address) })),
  );
  expect(shapes.length).toBeGreaterThanOrEqual(60);
  const refusalOf = async (port: number, text: string) => {
    const { status, errorCode, hasEnded } = await sendRaw(port, text, true);
    return `${errorCode} ${status}${hasEnded ? "" : ", connection open"}`;
  };
  for (const headers of [[], HANDSHAKE]) {
    const found = await Promise.all(
      shapes.map(async ({ target }) => {
        const text = headOf(`GET ${target}`, headers);
        const [engine, gateway] = [stage.engine.port, stage.port].map((port) =>
          refusalOf(port, text),
        );
        return { target, engine: await engine, gateway: await gateway };
      }),
    );
    expect(found).toEqual(
      shapes.map(({ refusal, target }) => ({ target, engine: refusal, gateway: refusal })),
    );
  }
  expect(connections.count).toBe(0);
  expect(stage.broken).toEqual([]);
});

test("a lookalike of such a target: the answer of its path, also through a gateway", async () => {
  const stage = await GatewayStage.start();
  const { address, connections } = await otherHost();
  for (const target of LOOKALIKES) {
    for (const headers of [[], HANDSHAKE]) {
      const text = headOf(`GET ${target.replace("@", address)}`, headers);
      const answers = await Promise.all(
        [stage.engine.port, stage.port].map(async (port) => sendRaw(port, text)),
      );
      const status = target.startsWith("/healthz") ? 200 : 404;
      expect(
        answers.map((answer) => answer.status),
        target,
      ).toEqual([status, status]);
    }
  }
  expect(connections.count).toBe(0);
});

test("CONNECT gets a refusal and the end of its connection, whatever it names", async () => {
  const stage = await GatewayStage.start();
  const { address, connections } = await otherHost();
  for (const [target, status] of [
    [address, 505],
    [`/${address}`, 400],
    ["/healthz", 400],
    ["/api/private/v2.0/events/", 400],
  ] as const) {
    for (const port of [stage.engine.port, stage.port]) {
      const answer = await sendRaw(port, headOf(`CONNECT ${target}`), true);
      expect([target, answer.status, answer.hasEnded]).toEqual([target, status, true]);
    }
  }
  expect(connections.count).toBe(0);
});

const OWN_PATHS = ["/healthz", "/readyz", "/metrics"].flatMap((path) => [path, `${path}/`]);

test("a path of the gateway itself, with a slash at its end or not, stays there", async () => {
  const heads: string[] = [];
  const { port } = await startDisturbed((socket, head) => {
    heads.push(head);
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  for (const path of OWN_PATHS) {
    for (const headers of [[], HANDSHAKE]) {
      const { status, body } = await sendRaw(port, headOf(`GET ${path}`, headers));
      const isOwn = path.startsWith("/metrics") ? body.includes("frontrow_gateway_") : body !== "";
      expect([path, status, isOwn]).toEqual([path, 200, true]);
    }
  }
  expect(heads).toEqual([]);
});

test.each(["TRACE", "OPTIONS", "POST"])(
  "%s on a path of the gateway itself is 405",
  async (method) => {
    const stage = await GatewayStage.start();
    for (const path of OWN_PATHS) {
      for (const port of [stage.engine.port, stage.port]) {
        const { status, errorCode } = await sendRaw(port, headOf(`${method} ${path}`));
        expect([status, errorCode]).toEqual([405, "METHOD_NOT_ALLOWED"]);
      }
    }
  },
);
