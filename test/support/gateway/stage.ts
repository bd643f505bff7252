/** A listening test server with a gateway before it, in the process of the test. */
import { Agent, type IncomingMessage, request as requestHttp } from "node:http";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { Engines } from "../../../server/gateway/engine-link.ts";
import { type RunningGateway, startGateway } from "../../../server/gateway/run.ts";
import { answerOf } from "../../../server/gateway/passing.ts";
import type { Answer } from "../../../server/http/answers.ts";
import type { Request } from "../../../server/http/front.ts";
import { type HttpOptions, type HttpServer, listen } from "../../../server/http/server.ts";
import { witness } from "../answers/witness.ts";
import { TEST_SECRET, TestServer } from "../server.ts";

const HOST = "127.0.0.1";
const SILENT = { info: () => {}, warn: () => {} };

/** Waits until something is true; the test's own time limit ends the wait. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => void setTimeout(resolve, 5));
}

export interface Sent {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** Sends a request to a port. @returns The answer, and its head as it came. */
export async function sendTo(port: number, sent: Sent, agent?: Agent) {
  const { method, target, headers = {}, body = "" } = sent;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const options = { host: HOST, port, method, path: target, headers, ...(agent && { agent }) };
    requestHttp(options, resolve).on("error", reject).end(body);
  });
  const bytes = await buffer(response);
  return { ...answerOf(response, [bytes]), raw: response.headers };
}

export class GatewayStage {
  readonly server: TestServer;
  readonly engine: HttpServer;
  readonly gateway: RunningGateway;
  readonly broken: unknown[];

  private constructor(
    server: TestServer,
    [engine, gateway]: readonly [HttpServer, RunningGateway],
    broken: unknown[],
  ) {
    this.server = server;
    this.engine = engine;
    this.gateway = gateway;
    this.broken = broken;
  }

  /** Ends with the test. */
  static async start(
    limits: Partial<HttpOptions> = {},
    server = new TestServer(),
    enginePort = 0,
  ): Promise<GatewayStage> {
    const stage = await GatewayStage.before(server, limits, enginePort);
    onTestFinished(() => stage.close());
    return stage;
  }

  static async before(
    server: TestServer,
    limits: Partial<HttpOptions> = {},
    enginePort = 0,
  ): Promise<GatewayStage> {
    const broken: unknown[] = [];
    const onBroken = (error: unknown) => void broken.push(error);
    const own = { host: HOST, port: 0, onBroken };
    const trusting = { ...own, port: enginePort, trustedProxies: [HOST] };
    const engine = await listen(server.dispatch, trusting);
    const gateway = await newGateway(engine.port, { ...own, ...limits });
    return new GatewayStage(server, [engine, gateway], broken);
  }

  get port(): number {
    return this.gateway.port;
  }

  get base(): string {
    return `http://${HOST}:${this.port}`;
  }

  async close(): Promise<void> {
    this.gateway.link.stop();
    await this.gateway.stop();
    this.engine.close();
  }

  send(sent: Sent) {
    return sendTo(this.port, sent);
  }

  /** Posts JSON with the key of organization A. */
  post(target: string, value: unknown, headers: Readonly<Record<string, string>> = {}) {
    const body = JSON.stringify(value);
    const own = { "x-api-key": this.server.a.key, "content-type": "application/json" };
    return this.send({ method: "POST", target, headers: { ...own, ...headers }, body });
  }

  /** Locks seats of organization A. */
  lock(session: string, labels: readonly string[], headers: Readonly<Record<string, string>> = {}) {
    const { server } = this;
    const selection = server.selection(session, ...labels);
    return this.post(server.bookingPath("lock"), selection, headers);
  }
}

/** Another gateway before a listening engine. */
export async function newGateway(
  enginePort: number,
  options: Partial<HttpOptions> & { readonly secret?: string } = {},
): Promise<RunningGateway> {
  const { secret = TEST_SECRET, onBroken = () => {}, ...limits } = options;
  const gateway = await startGateway({
    host: HOST,
    port: 0,
    ...limits,
    onBroken,
    engines: new Engines([new URL(`http://${HOST}:${enginePort}`)]),
    secret,
    metricsToken: undefined,
    log: SILENT,
  });
  if (secret === TEST_SECRET) await until(() => gateway.link.isReady);
  return gateway;
}

const stages = new WeakMap<TestServer, Promise<GatewayStage>>();
const agent = new Agent({ keepAlive: true });

/** Ends with the test; another test of the same server starts another one. */
function newStage(server: TestServer): Promise<GatewayStage> {
  const made = GatewayStage.before(server, { trustedProxies: [HOST] });
  stages.set(server, made);
  onTestFinished(async () => {
    stages.delete(server);
    await (await made).close();
  });
  return made;
}

/** Sends a request of a test of the dispatch through a gateway. */
export async function throughGateway(server: TestServer, request: Request): Promise<Answer> {
  const { port } = await (stages.get(server) ?? newStage(server));
  const { method, path, query, body } = request;
  const target = query === "" ? path : `${path}?${query}`;
  const sent = { method: method.toUpperCase(), target, headers: headersOf(request), body };
  const { raw: _, ...answer } = await sendTo(port, sent, agent);
  const isEmpty = answer.body.length === 0;
  const isText = isEmpty || answer.type.includes("json");
  const shown = { ...answer, body: isText ? String(answer.body) : answer.body };
  witness(server.dispatch.find(request).route, request, shown);
  return shown;
}

function headersOf(request: Request): Record<string, string> {
  const given: Readonly<Record<string, string>> = {
    "x-api-key": request.apiKey,
    authorization: request.authorization,
    "x-organization-id": request.organizationId,
    "content-type": request.contentType,
    "content-encoding": request.contentEncoding,
    prefer: request.prefer,
    "x-forwarded-for": request.address(),
  };
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ""));
  if (request.idempotencyKey !== null) headers["idempotency-key"] = request.idempotencyKey;
  return { ...headers, "content-length": String(request.body.length) };
}
