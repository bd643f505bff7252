/** One server, the event of organization A, and booking calls in a few words. */
import { type Reply, TestServer, V2 } from "../../support/server.ts";

export const KINDS = [
  "lock",
  "unlock",
  "sale",
  "revertsale",
  "directsale",
  "block",
  "unblock",
] as const;
export type Kind = (typeof KINDS)[number];

export class Booth {
  readonly server = new TestServer();

  path(kind: Kind, eventId: string = this.server.a.eventId): string {
    return `${V2}/booking/${kind}?eventId=${eventId}`;
  }

  id(label: string): number {
    return this.server.a.labels.idOf(label);
  }

  /** @param objects - Seats by label, places as `Pit:3`. */
  selection(session: string | undefined, ...objects: readonly string[]): object {
    return this.server.world.selection(session ?? null, ...objects);
  }

  book(kind: Kind, session: string | undefined, ...objects: string[]): Promise<Reply> {
    return this.send(kind, this.selection(session, ...objects));
  }

  send(kind: Kind, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const { key } = this.server.a;
    return this.server.call("POST", this.path(kind), { key, body, headers });
  }

  async states(...labels: readonly string[]): Promise<(string | null)[]> {
    const seats = await this.server.seats();
    return labels.map((label) => seats.find(({ seatId }) => seatId === this.id(label))!.state);
  }

  /** Places of the standing area: active, locked, sold, blocked. */
  async pit(): Promise<readonly number[]> {
    const { eventId, key } = this.server.a;
    const path = `${V2}/events/${eventId}/areas/`;
    const { body } = await this.server.call<Record<string, number>[]>("GET", path, { key });
    const { active, locked, sold, blocked } = body[0]!;
    return [active!, locked!, sold!, blocked!];
  }

  /** Settings of organization A. */
  change(settings: object): void {
    this.server.world.change(settings);
  }

  setStatus(...statuses: readonly ("DRAFT" | "PUBLISHED" | "ARCHIVED")[]): void {
    const { world, a } = this.server;
    for (const status of statuses) {
      world.must("changeEventStatus", a.caller, { eventId: a.eventId, body: { status } });
    }
  }
}
