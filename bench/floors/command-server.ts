/**
 * The program of a command socket that decides nothing: every command of the binary subprotocol is
 * answered with `true`. The argument is a folder, in which the commands of a turn are written as
 * one batch before they are answered; without it they are answered at once.
 */
import uws, { type WebSocket } from "uWebSockets.js";
import { batchBytes, WrittenFile } from "./floors.ts";

const PATH = "/api/private/v2.0/booking/socket";
const PROTOCOL = "frontrow.commands.v1+binary";
const COMMAND_BYTES = 24;
const ANSWER_BYTES = 8;
const COMMANDS_MAX = 4_096;
const [DONE, TRUE] = [200, 1];
const CREDIT = JSON.stringify({ type: "credit" });

interface Client {
  /** The first message opens handles. */
  hasHandles: boolean;
}

const [folder] = process.argv.slice(2);
const file = folder === undefined ? null : new WrittenFile(folder);
const answers = Buffer.alloc(COMMANDS_MAX * ANSWER_BYTES);
for (let i = 0; i < COMMANDS_MAX; i++) {
  answers.writeUInt32LE(i + 1, i * ANSWER_BYTES);
  answers.writeUInt16LE(DONE, i * ANSWER_BYTES + 4);
  answers.writeUInt16LE(TRUE, i * ANSWER_BYTES + 6);
}
/** Commands of the open batch by their connection. */
let batch = new Map<WebSocket<Client>, number>();
let isBusy = false;

const app = uws.App();
app.ws<Client>("/*", {
  upgrade: (res, req, context) => {
    const key = req.getHeader("sec-websocket-key");
    const isHere = req.getUrl() === PATH;
    if (isHere) res.upgrade({ hasHandles: false }, key, PROTOCOL, "", context);
    else res.end();
  },
  open: (ws) => void ws.send(CREDIT),
  message: (ws, { byteLength }) => {
    const client = ws.getUserData();
    if (client.hasHandles) add(ws, byteLength / COMMAND_BYTES);
    client.hasHandles = true;
  },
  close: (ws) => void batch.delete(ws),
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listening on http://127.0.0.1:${uws.us_socket_local_port(socket)}\n`);
});

function add(ws: WebSocket<Client>, commands: number): void {
  if (file === null) {
    answer(ws, commands);
    return;
  }
  batch.set(ws, (batch.get(ws) ?? 0) + commands);
  if (isBusy) return;
  isBusy = true;
  setImmediate(write);
}

function write(): void {
  const written = batch;
  batch = new Map();
  let count = 0;
  for (const commands of written.values()) count += commands;
  file!.write(batchBytes(count), () => {
    // The next batch goes first, so the disk works while the answers of this one are sent.
    isBusy = batch.size > 0;
    if (isBusy) write();
    for (const [ws, commands] of written) answer(ws, commands);
  });
}

function answer(ws: WebSocket<Client>, commands: number): void {
  ws.send(answers.subarray(0, commands * ANSWER_BYTES), true);
}
