// A topic of the v2 client: booking commands over a WebSocket that is written here byte by byte.

import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { base, calledRows, step, V2 } from "./v2-kit.mjs";
import { inState, onSale } from "./v2-stage.mjs";

const PATH = `${V2}/booking/socket`;
const [TEXT, CLOSE] = [0x81, 0x88];

async function connect(key) {
  const headers = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": Buffer.from("sixteen bytes...").toString("base64"),
    "Sec-WebSocket-Protocol": "frontrow.commands.v1+json",
    "X-API-Key": key,
  };
  const handshake = request(base + PATH, { headers }).end();
  const [response, stream, head] = await once(handshake, "upgrade");
  assert.equal(response.statusCode, 101);
  calledRows.add(`GET ${PATH}`);
  return { stream, bytes: head };
}

/** A frame with a mask of zeros. */
function send({ stream }, opcode, text) {
  const payload = Buffer.from(text);
  const head = Buffer.from([opcode, 0x80 | 126, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(payload.length, 2);
  stream.write(Buffer.concat([head, payload]));
}

/** The next message of the server, which is shorter than 64 KiB. */
async function message(socket) {
  for (;;) {
    const { bytes } = socket;
    const short = bytes.length < 2 ? 0 : bytes[1];
    const at = short === 126 ? 4 : 2;
    const length = short === 126 && bytes.length >= at ? bytes.readUInt16BE(2) : short;
    if (bytes.length >= Math.max(at, at + length) && bytes.length > 1) {
      socket.bytes = bytes.subarray(at + length);
      return JSON.parse(bytes.subarray(at, at + length));
    }
    const [more] = await once(socket.stream, "data");
    socket.bytes = Buffer.concat([bytes, more]);
  }
}

export async function commands(world) {
  const { api, organization } = world;
  const show = await onSale(world, "Over one connection");
  const [one, two] = show.a;
  await step(
    "a connection takes commands up to its credit, and answers in their order",
    async () => {
      const socket = await connect(organization.secretKey);
      const { type, commandsInFrame } = await message(socket);
      assert.deepEqual([type, commandsInFrame], ["credit", 64]);
      const command = (n, call, id) => {
        return { n, call, eventId: show.id, sessionId: "ann", seats: [{ id }] };
      };
      const sent = [command(1, "lock", one), command(2, "sale", one), command(3, "sale", two)];
      send(socket, TEXT, JSON.stringify(sent));
      const answers = await message(socket);
      while (answers.length < sent.length) answers.push(...(await message(socket)));
      assert.deepEqual(
        answers.map(({ n, status }) => [n, status]),
        [
          [1, 200],
          [2, 200],
          [3, 400],
        ],
      );
      assert.equal(answers[2].body.errorCode, "INVENTORY_NOT_AVAILABLE");
      send(socket, CLOSE, "");
      await inState(api, show.id, [one], "SOLD");
      await inState(api, show.id, [two], "ACTIVE");
      socket.stream.destroy();
    },
  );
}
