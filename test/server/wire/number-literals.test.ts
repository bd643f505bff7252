/** Rejected numbers are given back as they were sent, never rounded. */
import { expect, test } from "vitest";
import { MANAGEMENT, TestServer, V2 } from "../../support/server.ts";

const server = new TestServer();
const { eventId } = server.a;

/** The text of every rejected value of an answer. */
function rejected(text: string): string[] {
  return Array.from(text.matchAll(/"rejectedValue":(.*?),"code"/g), ([, value]) => value!);
}

const LONG = "9007199254740993";

test.each([
  ["a seat", `{"seats":[{"id":1},{"id":${LONG}}]}`, [LONG]],
  [
    "a capacity, which the engine refuses",
    `{"groupOfSeats":[{"id":1,"capacity":${LONG}}]}`,
    [LONG],
  ],
  ["several numbers", `{"seats":[{"id":-${LONG}},{"id":1e400}]}`, [`-${LONG}`, "1e400"]],
  ["a fraction", `{"seats":[{"id":0.12345678901234567890}]}`, ["0.12345678901234567890"]],
  ["a number behind a text", `{"sessionId":"\\"[{1: 2","seats":[{"id":${LONG}}]}`, [LONG]],
  ["a number behind a mark", `\ufeff{"seats":[{"id":${LONG}}]}`, [LONG]],
  ["a number under a strange name", `{"seats":[{"id":1}],"fences":{"a}-[b.c":0.5}}`, ["null"]],
  ["a very long number", `{"seats":[{"id":${"9".repeat(300)}}]}`, ["null"]],
])("%s in a body", async (_, body, values) => {
  const reply = await server.post(server.bookingPath("lock"), body);
  expect([reply.status, rejected(reply.text)]).toEqual([400, values]);
  expect(reply.body.errors).toHaveLength(values.length);
});

test("a number in the path or in the query", async () => {
  const seats = `${V2}/events/${eventId}/seats/`;
  for (const [target, value] of [
    [`${V2}/venues/${LONG}`, LONG],
    [`${V2}/venues/-0${LONG}`, `-${LONG}`],
    [`${seats}?sectionId=${LONG}`, LONG],
    [`${seats}?page=${LONG}`, LONG],
    [`${seats}?size=101`, "101"],
    [`${seats}?size=0`, "0"],
    [`${seats}?size=1e9`, '"1e9"'],
  ] as const) {
    const { text } = await server.get(target);
    expect([target, rejected(text)]).toEqual([target, [value]]);
  }
});

test("a number in the place of a password is not given back", async () => {
  const body = `{"name":"x","password":${LONG}.5}`;
  const reply = await server.post(`${MANAGEMENT}/organizations/`, body, {
    key: server.tenantToken,
  });
  expect(reply.text).not.toContain(LONG);
});
