/** What the front says while the journal takes no records: changes are refused, reads go on. */
import { expect, test } from "vitest";
import { Admission } from "../../engine/ports.ts";
import { TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const CLOSED = [
  [Admission.OVERLOADED, "OVERLOADED"],
  [Admission.UNAVAILABLE, "LOG_UNAVAILABLE"],
] as const;

test.each(CLOSED)(
  "a journal that is closed (%i) is 503 %s to a change",
  async (admits, errorCode) => {
    const server = new TestServer();
    const { key, eventId } = server.a;
    const path = `${V2}/booking/lock`;
    const body = { seats: [{ id: server.a.labels.idOf("A1") }] };
    const lock = () => server.call("POST", `${path}?eventId=${eventId}`, { key, body });
    server.journal.admits = admits;
    const before = server.digest;
    const refused = await lock();
    expectProblem(refused, { status: 503, errorCode, path, errors: [] });
    expect(refused.headers["Retry-After"]).toBe("1");
    expect((await server.call("GET", `${V2}/events/${eventId}`, { key })).status).toBe(200);
    expect((await server.call("GET", "/readyz", {})).status).toBe(503);
    expect(server.digest).toBe(before);
    server.journal.admits = Admission.OPEN;
    expect((await lock()).text).toBe("true");
  },
);
