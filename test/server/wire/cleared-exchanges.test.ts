/** An exchange that is used again must be as a new one, in every member. */
import { type Runtime, Session } from "node:inspector";
import { expect, test } from "vitest";
import { page } from "../../../server/http/answers.ts";
import type { Exchange, Front } from "../../../server/http/front.ts";
import { type Exchanges, HttpExchange } from "../../../server/http/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { Listening, until } from "./connection.ts";

type Property = Pick<Runtime.PropertyDescriptor, "name" | "value">;

const INSPECTED = "inspectedByTest";

/** The value of a function. */
const METHOD = "a function";

/** Set by `begin`, and the server of an exchange. */
const KEPT = ["isOver", "isWhole", "#exchanges"];
/** Of an exchange that serves no other request, or of a command socket, and a constant. */
const UNTOUCHED = ["envelope", "headProblem", "isCutOff", "waits"];

const HUGE_PATH = "/huge";
/** More than the buffers of both sockets take. */
const HUGE = page("text/plain", Buffer.alloc(48 * 1_024 * 1_024));

/** A server whose exchanges are looked at again and again. */
class Inspected {
  readonly exchanges = new Set<Exchange>();
  /** Members that differed from a new exchange at some time. */
  readonly differed = new Set<string>();
  readonly server = new TestServer();
  readonly #fresh = membersOf(new HttpExchange({} as Exchanges));

  async start(): Promise<Listening> {
    const onAnswer = (exchange: Exchange) => this.look([exchange]);
    // Each exchange stays as its one request has left it.
    const listening = await Listening.start({ onAnswer, idleMax: 0 }, this.server);
    const front = listening.http.front;
    listening.http.front = Object.assign(Object.create(front) as Front, {
      find: (head: Exchange) => front.find(head),
      judge: (exchange: Exchange) => front.judge(exchange),
      handle: (exchange: Exchange) => {
        if (exchange.path === "/healthz") return front.handle(exchange);
        this.exchanges.add(exchange);
        this.look([exchange]);
        if (exchange.path === HUGE_PATH) exchange.respond(HUGE);
        else front.handle(exchange);
        this.look([exchange]);
      },
      leave: (exchange: Exchange) => front.leave(exchange),
      refuse: (...refused: Parameters<Front["refuse"]>) => front.refuse(...refused),
    });
    return listening;
  }

  look(exchanges: Iterable<Exchange> = this.exchanges): void {
    for (const exchange of exchanges) {
      for (const [name, value] of membersOf(exchange)) {
        if (value !== this.#fresh.get(name)) this.differed.add(name);
      }
    }
  }

  /** Members that never differed from those of a new exchange. */
  get untouched(): readonly string[] {
    return [...this.#fresh]
      .filter(([name, value]) => value !== METHOD && !this.differed.has(name))
      .map(([name]) => name);
  }

  /** Members of exchanges, all at rest, that differ from those of a new one. */
  get left(): readonly string[] {
    const left = [...this.exchanges].flatMap((exchange) =>
      [...membersOf(exchange)].filter(([name, value]) => value !== this.#fresh.get(name)),
    );
    return [...new Set(left.map(([name]) => name))];
  }
}

test("requests of every kind → each member of their exchanges is as in a new one", async () => {
  const inspected = new Inspected();
  const { server } = inspected;
  const { a, journal } = server;
  const listening = await inspected.start();
  const { stats } = listening.http;
  const full = await listening.connection();
  journal.withholds = true;
  const headers = ["Authorization: Bearer x", `X-Organization-ID: ${a.id}`, "Accept: */*"];
  const others = [
    "Accept-Encoding: gzip",
    "Last-Event-ID: 1",
    "Origin: http://x",
    "Prefer: y",
    "If-Match: *",
    "If-None-Match: *",
  ];
  const ids = ["X-Request-Id: r", "X-Forwarded-For: 192.0.2.1", "Idempotency-Key: k"];
  const json = ["Content-Type: application/json", "Connection: close"];
  full.socket.write(listening.lockRequest("A1", ...headers, ...others, ...ids, ...json));
  await until(() => inspected.exchanges.size > 0);
  journal.withholds = false;
  journal.sync();
  await until(() => full.answers.length === 1);
  const twice = await listening.connection();
  await twice.statusOf(listening.lockRequest("A1", "X-API-Key: x", "Content-Encoding: br"));

  for (const name of [listening.server.a.key, "unknown"]) {
    const pieces = await listening.connection();
    const request = listening.lockRequest("A2").replace(a.key, name);
    const bodyAt = request.indexOf("\r\n\r\n") + 4;
    for (const piece of [request.slice(0, bodyAt), request.slice(bodyAt, -5), request.slice(-5)]) {
      pieces.socket.write(piece);
      await listening.settled();
      inspected.look();
    }
  }

  const chunked = await listening.connection();
  const unsized = listening
    .lockRequest("A2")
    .replace(/Content-Length: .*/, "Transfer-Encoding: chunked");
  chunked.socket.write(`${unsized.slice(0, unsized.indexOf("{"))}2\r\n{}\r\n0\r\n\r\n`);
  await until(() => chunked.answers.length === 1);

  const impatient = await listening.connection();
  impatient.socket.pause();
  impatient.get(HUGE_PATH);
  await until(() => stats.answers.heldBytes > 0);
  inspected.look();
  impatient.socket.resetAndDestroy();

  for (const [path, ...own] of [
    ["stream", ...HANDSHAKE],
    ["changes/", "Accept: text/event-stream"],
    [`changes/?wait=30&since=${server.engine.sequence}`],
  ]) {
    const connection = await listening.connection();
    connection.get(`${V2}/events/${a.eventId}/${path}`, ...own, `X-API-Key: ${a.key}`);
    await listening.settled();
    inspected.look();
    connection.socket.destroy();
    await listening.settled();
  }
  await until(() => stats.exchanges.open === 0);
  expect(new Set(inspected.untouched)).toEqual(new Set(UNTOUCHED));
  expect(new Set(inspected.left)).toEqual(new Set(KEPT));
  expect(listening.broken).toEqual([]);
});

/**
 * Members of an object by name, private ones with their `#` (only the inspector sees those): primitive
 * values, or the class of an object.
 */
function membersOf(object: object): ReadonlyMap<string, unknown> {
  const session = new Session();
  session.connect();
  const named = globalThis as Record<string, unknown>;
  named[INSPECTED] = object;
  const members = new Map<string, unknown>();
  try {
    const evaluated = call(session, "Runtime.evaluate", { expression: `globalThis.${INSPECTED}` });
    const { objectId } = (evaluated as { result: Runtime.RemoteObject }).result;
    const found = call(session, "Runtime.getProperties", { objectId, ownProperties: true });
    const { result, privateProperties } = found as Record<string, readonly Property[]>;
    for (const { name, value } of [...result!, ...privateProperties!]) {
      if (value === undefined) continue;
      const shown = value.objectId === undefined ? value.value : value.description;
      members.set(name, value.type === "function" ? METHOD : shown);
    }
  } finally {
    delete named[INSPECTED];
    session.disconnect();
  }
  return members;
}

/** The inspector of the own thread answers at once. */
function call(session: Session, method: string, parameters: object): object {
  let outcome: object | undefined;
  session.post(method, parameters, (error, result) => (outcome = error ?? result));
  if (outcome === undefined || outcome instanceof Error) throw new Error(method);
  return outcome;
}
