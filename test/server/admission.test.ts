/** Answers while the log takes no records: changes are refused, reads are not. */
import { expect, test } from "vitest";
import { Admission } from "../../engine/ports.ts";
import { TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

test.each([
  ["overloaded", Admission.OVERLOADED, "OVERLOADED"],
  ["unavailable", Admission.UNAVAILABLE, "LOG_UNAVAILABLE"],
] as const)("while the log is %s, changes are 503 and reads are answered", async (...row) => {
  const [, admission, errorCode] = row;
  const server = new TestServer();
  server.journal.admits = admission;
  const before = server.digest;
  const refused = await server.book("lock", null, "A1");
  expectProblem(refused, { status: 503, errorCode });
  expect(refused.headers["Retry-After"]).toBe("1");
  expect((await server.get(`${V2}/events/${server.a.eventId}`)).status).toBe(200);
  expect((await server.get("/readyz")).status).toBe(503);
  expect(server.digest).toBe(before);
  server.journal.admits = Admission.OPEN;
  expect((await server.book("lock", null, "A1")).text).toBe("true");
});
