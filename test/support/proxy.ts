/** Stands between a client and a server: breaks connections, and keeps answers back. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export class Proxy {
  readonly #port: number;
  readonly #server = createServer((client) => this.#join(client));
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Drops the server's bytes while true. */
  losesAnswers = false;
  /** Time of bytes on their way to the client. */
  delayMs = 0;
  connections = 0;

  private constructor(port: number) {
    this.#port = port;
  }

  static async start(port: number): Promise<Proxy> {
    const proxy = new Proxy(port);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    onTestFinished(() => {
      proxy.cut();
      proxy.#server.close();
    });
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #join(client: Socket): void {
    this.connections += 1;
    const server = connect(this.#port, "127.0.0.1");
    const pair = [client, server] as const;
    this.#pairs.add(pair);
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => {
      if (this.losesAnswers) return;
      if (this.delayMs === 0) client.write(bytes);
      else setTimeout(() => client.write(bytes), this.delayMs);
    });
    for (const socket of pair) {
      socket.on("error", () => {});
      socket.on("close", () => this.#part(pair));
    }
  }

  #part(pair: readonly [Socket, Socket]): void {
    this.#pairs.delete(pair);
    for (const socket of pair) socket.destroy();
  }

  /** Reads nothing more from the server, until `resume`. */
  pause(): void {
    for (const [, server] of this.#pairs) server.pause();
  }

  resume(): void {
    for (const [, server] of this.#pairs) server.resume();
  }

  /** Breaks all connections. */
  cut(): void {
    for (const pair of this.#pairs) this.#part(pair);
  }
}
