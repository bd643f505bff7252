/** A receiver of webhooks, with the public library's signature check. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { onTestFinished } from "vitest";
import type { StreamChange } from "../live/stream-client.ts";

export interface Received {
  readonly id: string;
  readonly body: string;
  readonly type: string;
  readonly data: {
    readonly eventId: string;
    readonly sequence: number;
    readonly changes: readonly StreamChange[];
  };
  /** The secrets behind its signatures. */
  readonly signedBy: readonly string[];
}

export class Receiver {
  readonly received: Received[] = [];
  status = 200;
  /** Sent with every answer. */
  headers: Readonly<Record<string, string>> = {};
  secrets: string[] = [];
  url = "";

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    const server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (part: Buffer) => (body += part.toString()));
      request.on("end", () => {
        receiver.#take(request.headers as Record<string, string>, body);
        response.writeHead(receiver.status, receiver.headers).end();
      });
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    return receiver;
  }

  /** Each change once, in the order of their first arrival. */
  get changes(): StreamChange[] {
    const firsts = new Map<string, readonly StreamChange[]>();
    for (const { id, data } of this.received) if (!firsts.has(id)) firsts.set(id, data.changes);
    return [...firsts.values()].flat();
  }

  #take(headers: Record<string, string>, body: string): void {
    const signedBy = this.secrets.filter((secret) => isSigned(secret, body, headers));
    const { type, data } = JSON.parse(body) as Pick<Received, "type" | "data">;
    this.received.push({ id: headers["webhook-id"]!, body, type, data, signedBy });
  }
}

function isSigned(secret: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
