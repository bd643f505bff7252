/**
 * A test server that listens on a socket, and bare connections to it. The server runs in the same
 * process as the test, so a test can wait for events instead of for time.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { type HttpOptions, type HttpServer, listen } from "../../../server/http/server.ts";
import { TestServer } from "../../support/server.ts";

const STATUS_LINE = /HTTP\/1\.1 \d+ [^\r]*/g;

/**
 * Waits until something is true; the test's own time limit ends the wait. Some waits take ten
 * seconds, so it looks once in a millisecond and leaves the processor to what it waits for.
 */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await delay(1);
}

export class Listening {
  /** Starts a process in front of a server, such as a gateway, and returns its port. */
  static way: ((port: number) => Promise<number>) | null = null;
  readonly server: TestServer;
  readonly http: HttpServer;
  /** The port that clients use. */
  readonly port: number;
  /** Errors that would have ended the process. */
  readonly broken: unknown[];

  private constructor(
    server: TestServer,
    { http, port }: { readonly http: HttpServer; readonly port: number },
    broken: unknown[],
  ) {
    this.server = server;
    this.http = http;
    this.port = port;
    this.broken = broken;
  }

  static async start(
    limits: Partial<HttpOptions> = {},
    server = new TestServer(),
  ): Promise<Listening> {
    const broken: unknown[] = [];
    const onBroken = (error: unknown) => void broken.push(error);
    const options = { host: "127.0.0.1", port: 0, onBroken, ...limits };
    const http = await listen(server.dispatch, options);
    onTestFinished(() => http.close());
    const port = (await Listening.way?.(http.port)) ?? http.port;
    return new Listening(server, { http, port }, broken);
  }

  get base(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Posts JSON with the key of organization A. */
  post(target: string, body: string): Promise<Response> {
    const headers = { "X-API-Key": this.server.a.key, "Content-Type": "application/json" };
    return fetch(this.base + target, { method: "POST", headers, body });
  }

  /** Locks a seat of organization A. */
  lock(label: string): Promise<Response> {
    return this.post(this.server.bookingPath("lock"), this.lockBody(label));
  }

  lockBody(label: string): string {
    return JSON.stringify(this.server.selection("s", label));
  }

  /** The request that locks a seat of organization A, as it is sent. */
  lockRequest(label: string, ...headers: readonly string[]): string {
    return this.bookingRequest(this.lockBody(label), ...headers);
  }

  bookingRequest(body: string, ...headers: readonly string[]): string {
    return [
      `POST ${this.server.bookingPath("lock")} HTTP/1.1`,
      "Host: x",
      `Content-Length: ${body.length}`,
      `X-API-Key: ${this.server.a.key}`,
      ...headers,
      "",
      body,
    ].join("\r\n");
  }

  async connection(): Promise<Connection> {
    const socket = connect(this.port, "127.0.0.1");
    socket.setEncoding("latin1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return new Connection(socket);
  }

  /**
   * Waits until the server has read everything sent before, on any connection, and its answers have
   * arrived: each round trip turns the event loop.
   */
  async settled(): Promise<void> {
    for (let i = 0; i < 3; i++) expect((await fetch(`${this.base}/healthz`)).status).toBe(200);
  }
}

/** A bare connection, and all text that came back on it. */
export class Connection {
  readonly socket: Socket;
  text = "";

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (text: string) => (this.text += text));
  }

  /** Sends a request without a body. */
  get(path: string, ...headers: readonly string[]): void {
    this.socket.write([`GET ${path} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n"));
  }

  /** The status lines of the answers so far. */
  get answers(): readonly string[] {
    return this.text.match(STATUS_LINE) ?? [];
  }

  /** Waits for the next answer, and returns its text. */
  async answer(): Promise<string> {
    const { length } = this.text;
    await until(() => this.text.length > length);
    return this.text.slice(length);
  }

  /** Sends a request and waits for the status of its answer. */
  async statusOf(request: string): Promise<number> {
    this.socket.write(request);
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await this.answer())?.[1]);
  }
}
