/** uWS throws for a response that is aborted or answered, and an error there ends the process. */
import { expect, test } from "vitest";
import { eventStream, page, redirect, TRUE, upgrade } from "../../../server/http/answers.ts";
import { TrustedProxies } from "../../../server/http/client-address.ts";
import {
  type Exchanges,
  type Head,
  HttpExchange,
  type Socket,
} from "../../../server/http/exchange.ts";
import { Transfers } from "../../../server/http/limits.ts";
import type { SocketHandler, Sockets } from "../../../server/http/sockets.ts";

const HEAD: Head = {
  getHeader: () => "",
  getUrl: () => "/x",
  getQuery: () => "",
  forEach: () => {},
};

/** A request under way; its response throws as soon as it is over. */
class Begun {
  readonly released: HttpExchange[] = [];
  readonly written: string[] = [];
  readonly exchange: HttpExchange;

  constructor(method = "get", isWhole = false) {
    const exchanges: Exchanges = {
      proxies: new TrustedProxies([]),
      answers: new Transfers(),
      answerBytesMax: 1,
      sockets: {} as Sockets,
      take: () => {},
      admitsUnmeasured: () => true,
      onAnswer: null,
      end: (exchange) => (exchange.isOver = true),
      lose: (exchange) => (exchange.isOver = true),
      openSocket: (open) => open(),
      release: (exchange) => void this.released.push(exchange),
    };
    this.exchange = new HttpExchange(exchanges);
    this.exchange.begin(this.#socket(), HEAD, method);
    this.exchange.isWhole = isWhole;
  }

  #socket(): Socket {
    const { exchange, written } = this;
    return new Proxy({} as Socket, {
      get: (_, name) => {
        if (exchange.isOver) throw new Error(`uWS: ${String(name)} of a response that is over`);
        return (write: unknown) => {
          written.push(String(name));
          if (name === "cork") (write as () => void)();
          if (name === "getRemoteAddressAsText") return new ArrayBuffer(0);
          return name === "tryEnd" ? [true, true] : undefined;
        };
      },
    });
  }
}

const METHODS: Readonly<Record<string, (exchange: HttpExchange) => unknown>> = {
  address: (exchange) => exchange.address(),
  pauseBody: (exchange) => exchange.pauseBody(),
  resumeBody: (exchange) => exchange.resumeBody(),
  abandon: (exchange) => exchange.abandon(),
  cutOff: (exchange) => exchange.cutOff(TRUE),
};

test.each(Object.keys(METHODS))(
  "%s uses the response, but not of a client that has gone",
  (name) => {
    const present = new Begun();
    METHODS[name]!(present.exchange);
    expect(present.written).not.toEqual([]);
    const gone = new Begun();
    gone.exchange.abort();
    METHODS[name]!(gone.exchange);
    expect(gone.written).toEqual([]);
  },
);

test.each([
  ["a short body", TRUE],
  ["a long body", page("text/plain", "x".repeat(1_000))],
  ["a redirection", redirect("/x")],
])("an answer with %s for a client that has gone → only its exchange is free", (_, answer) => {
  for (const [method, isWhole] of [
    ["get", false],
    ["get", true],
    ["head", true],
  ] as const) {
    const { exchange, written, released } = new Begun(method, isWhole);
    exchange.abort();
    exchange.respond(answer);
    expect([written, released]).toEqual([[], [exchange]]);
  }
});

test("a stream for a client that has gone → its handler hears that, once", () => {
  let closed = 0;
  const handler = { closed: () => (closed += 1) } as unknown as SocketHandler;
  const sender = { name: "x", hasKey: true };
  for (const answer of [eventStream(handler), upgrade({ protocol: "", sender, handler })]) {
    closed = 0;
    const { exchange, written, released } = new Begun("get", true);
    exchange.isBeingRead = true;
    exchange.abort();
    exchange.respond(answer);
    expect([written, released, closed]).toEqual([[], [exchange], 1]);
  }
});

test("an answer after the request was cut off → not sent, and its exchange serves no other", () => {
  const { exchange, written, released } = new Begun("put");
  exchange.cutOff(page("text/plain", "the cut-off"));
  const { length } = written;
  // The rest of the body may come, also whole.
  for (const isWhole of [false, true]) {
    exchange.isWhole = isWhole;
    exchange.respond(TRUE);
    exchange.cutOff(TRUE);
    expect(written).toHaveLength(length);
    expect(released).toEqual([]);
    expect(exchange.answer?.body).toBe("the cut-off");
  }
});
