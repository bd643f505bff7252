/** The id of a request: taken over or made, in the header of the answer and in the log. */
import { expect, test } from "vitest";
import { V2 } from "../../support/server.ts";
import { Listening } from "./connection.ts";

const ID = /^x-request-id: (.*)\r$/im;

/** @returns The id in the answer to a request with these headers; undefined for none. */
async function idOf(listening: Listening, target: string, ...headers: readonly string[]) {
  const connection = await listening.connection();
  const lines = [`GET ${target} HTTP/1.1`, "Host: x", ...headers, "", ""];
  connection.socket.write(lines.join("\r\n"));
  return ID.exec(await connection.answer())?.[1];
}

test("a well-formed id of a client is in its answer, whatever the status", async () => {
  const listening = await Listening.start();
  const key = `X-API-Key: ${listening.server.a.key}`;
  const ids = [
    "7",
    "b6f1c7f0-1d2e-4c3b-9a4f-0123456789ab",
    "00-4bf9/2f35+77=b~34:da.6@a",
    "i".repeat(128),
  ];
  for (const id of ids) {
    const header = `X-Request-Id: ${id}`;
    expect(await idOf(listening, `${V2}/events/`, key, header)).toBe(id);
    expect(await idOf(listening, `${V2}/events/`, header)).toBe(id);
    expect(await idOf(listening, "/docs", header)).toBe(id);
  }
});

test("an id that is too long or has other characters is replaced in a refusal", async () => {
  const listening = await Listening.start();
  const made = new Set<string | undefined>();
  const bad = ["", "two words", "{}", '"', "<b>", "é", "i".repeat(129)];
  for (const id of bad) {
    const answered = await idOf(listening, `${V2}/events/`, `X-Request-Id: ${id}`);
    expect(answered).toMatch(/^[\w-]{8}-[0-9a-z]+$/);
    made.add(answered);
  }
  expect(made.size).toBe(bad.length);
});

test("without an id, a refusal gets one and a success gets none", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  const ids: (string | undefined)[] = [];
  for (const header of ["X-Request-Id: mine", "X-Other: 1", "X-Other: 2"]) {
    connection.socket.write(listening.lockRequest("A1", header));
    ids.push(ID.exec(await connection.answer())?.[1]);
  }
  connection.socket.write(listening.lockRequest("A2"));
  ids.push(ID.exec(await connection.answer())?.[1]);
  const [given, first, second, success] = ids;
  expect([given, success]).toEqual(["mine", undefined]);
  expect(first).not.toBe("mine");
  expect(first).not.toBe(second);
});

test("a request whose body is refused before it comes has an id, too", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  connection.socket.write(
    [
      `POST ${V2}/events/ HTTP/1.1`,
      "Host: x",
      "X-Request-Id: large",
      "Content-Length: 99999999",
      "",
      "",
    ].join("\r\n"),
  );
  const answer = await connection.answer();
  expect([answer.split(" ")[1], ID.exec(answer)?.[1]]).toEqual(["413", "large"]);
});

test("an unexpected error is logged with the id that its answer has", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  server.services.engine.submit = () => {
    throw new Error("a defect");
  };
  const answer = await listening.lock("A1");
  const id = answer.headers.get("x-request-id");
  const { msg, requestId } = JSON.parse(server.logged.at(-1)!) as Readonly<Record<string, unknown>>;
  expect([answer.status, msg, requestId]).toEqual([500, "unexpected error", id]);
});
