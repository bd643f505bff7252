/** A TCP relay between a gateway and its engine that can fail in the ways of a lost engine. */
import net from "node:net";
import { LINK_PATH } from "../../../server/gateway/link-layout.ts";
import { quietPort, sleep } from "../../support/server-process.ts";
import type { Disturbance } from "../recipe.ts";

const HOST = "127.0.0.1";
/** Time for an answer to come that can be torn. */
const TORN_MS_MAX = 50;
/** Single bytes of a piece; the rest follows at once. */
const TRICKLED_BYTES_MAX = 40;
const FILLER = Buffer.alloc(65_536, "x");
const CHUNK = Buffer.concat([Buffer.from("10000\r\n"), FILLER, Buffer.from("\r\n")]);
const JSON_HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const HEADS = {
  endless: Buffer.from(`${JSON_HEAD}Transfer-Encoding: chunked\r\n\r\n`),
  unframed: Buffer.from(`${JSON_HEAD}Connection: close\r\n\r\n`),
};
const REQUEST_LINE = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/;
/** Paths a gateway answers itself, and paths that a server could resolve to another one. */
const NOT_PASSED_ON =
  /^\/(metrics|healthz|readyz)\/?$|^\/api\/internal\/|^[^/]|^\/\/|\/(\.|%2[eE]){1,2}(\/|$)|\\|%5[cC]/;
/** A gateway adds it to each request of a client, and not to its own. */
const OF_CLIENT = /\r\nx-forwarded-for: /i;

interface Pair {
  readonly gateway: net.Socket;
  readonly engine: net.Socket;
}

export class Cable {
  readonly port = quietPort();
  /** Targets on the engine's side that a gateway may not request for a client. */
  readonly strayTargets: string[] = [];
  /** Disturbances begun. */
  begun = 0;
  readonly #enginePort: number;
  readonly #pairs = new Set<Pair>();
  /** Connections of the gateway that an endless answer has taken over. */
  readonly #flooded = new Set<net.Socket>();
  /** Connections of the engine whose last piece is still on its way. */
  readonly #trickling = new Set<net.Socket>();
  #server: net.Server | null = null;
  #kind: Disturbance["kind"] | null = null;

  constructor(enginePort: number) {
    this.#enginePort = enginePort;
  }

  async listen(): Promise<void> {
    // The other side's FIN passes through when the bytes before it have passed.
    const options = { allowHalfOpen: true, pauseOnConnect: true };
    const server = net.createServer(options, (gateway) => this.#join(gateway));
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(this.port, HOST, resolve);
    });
    this.#server = server;
  }

  /** Settles when the disturbance is over. */
  async disturb({ kind, ms }: Disturbance): Promise<void> {
    this.begun += 1;
    this.#kind = kind;
    if (kind === "silent") {
      for (const { gateway, engine } of this.#pairs)
        for (const one of [gateway, engine]) one.pause();
    }
    if (kind === "torn") await sleep(TORN_MS_MAX);
    const isAbsent = kind === "close" || kind === "reset" || kind === "torn";
    if (isAbsent) this.#cut(kind);
    await sleep(ms);
    this.#kind = null;
    for (const gateway of this.#flooded) gateway.destroy();
    this.#flooded.clear();
    if (isAbsent) await this.listen();
    for (const { gateway, engine } of this.#pairs) {
      for (const one of [gateway, engine]) this.#resume(one);
    }
  }

  close(): void {
    this.#cut("close");
  }

  #cut(kind: Disturbance["kind"]): void {
    this.#server?.close();
    for (const { gateway, engine } of this.#pairs) {
      if (kind === "reset") gateway.resetAndDestroy();
      else gateway.destroy();
      engine.destroy();
    }
    this.#pairs.clear();
  }

  #join(gateway: net.Socket): void {
    const engine = net.connect({ host: HOST, port: this.#enginePort, allowHalfOpen: true });
    const pair = { gateway: gateway.setNoDelay(true), engine: engine.setNoDelay(true) };
    this.#pairs.add(pair);
    this.#forward(gateway, engine, (piece) => this.#request(piece, engine));
    this.#forward(engine, gateway, (piece) => this.#answer(piece, pair));
    for (const one of [gateway, engine]) {
      one.on("close", () => this.#pairs.delete(pair));
      this.#resume(one);
    }
  }

  /** @param pass - Returns false when it is full. */
  #forward(from: net.Socket, to: net.Socket, pass: (piece: Buffer) => boolean): void {
    from
      .on("data", (piece) => {
        if (pass(piece)) return;
        from.pause();
        to.once("drain", () => this.#resume(from));
      })
      .on("end", () => this.#flooded.has(to) || to.end())
      .on("error", () => to.destroy())
      .on("close", () => this.#flooded.has(to) || to.end());
    // A data listener makes it flow, although it was accepted as paused.
    from.pause();
  }

  #request(piece: Buffer, engine: net.Socket): boolean {
    const text = piece.toString("latin1");
    const target = REQUEST_LINE.exec(text)?.[1] ?? "/";
    const isOwn = target === LINK_PATH && !OF_CLIENT.test(text);
    const [path = ""] = target.split("?");
    if (!isOwn && NOT_PASSED_ON.test(path)) this.strayTargets.push(target);
    return engine.write(piece);
  }

  #answer(piece: Buffer, { gateway, engine }: Pair): boolean {
    const kind = this.#kind;
    if (kind === "torn") {
      gateway.end(piece.subarray(0, piece.length >> 1));
      engine.destroy();
      return true;
    }
    if (kind === "trickle") {
      engine.pause();
      void this.#trickle(piece, { gateway, engine });
      return true;
    }
    const isAnswer = piece.subarray(0, 5).toString("latin1") === "HTTP/";
    if ((kind === "endless" || kind === "unframed") && isAnswer) {
      this.#flooded.add(gateway);
      engine.destroy();
      gateway.write(HEADS[kind]);
      flood(gateway, kind === "endless" ? CHUNK : FILLER);
      return true;
    }
    return gateway.write(piece);
  }

  async #trickle(piece: Buffer, { gateway, engine }: Pair): Promise<void> {
    this.#trickling.add(engine);
    const count = Math.min(piece.length, TRICKLED_BYTES_MAX);
    for (let at = 0; at < count; at++) {
      gateway.write(piece.subarray(at, at + 1));
      await new Promise(setImmediate);
    }
    gateway.write(piece.subarray(count));
    this.#trickling.delete(engine);
    this.#resume(engine);
  }

  #resume(one: net.Socket): void {
    if (this.#kind !== "silent" && !this.#trickling.has(one)) one.resume();
  }
}

/** As fast as the gateway reads, until it is destroyed. */
function flood(gateway: net.Socket, filler: Buffer): void {
  if (gateway.destroyed) return;
  gateway.write(filler, () => setImmediate(() => flood(gateway, filler)));
}
