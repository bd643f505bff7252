/**
 * The program of a server that only publishes: locks change an array and are answered at once, and
 * uWebSockets.js sends each message to all clients before it does anything else. There is no log
 * and no rule. A client gets all missed messages at once after a reconnect. The changes
 * are as long as those of Frontrow. What a client process and the kernel need for them, any server
 * on this machine needs.
 *
 * The arguments are the seats of the event, and the id of the first one.
 */
import uws, { type HttpResponse, type TemplatedApp } from "uWebSockets.js";

const TOPIC = "changes";
const TIME = "2030-05-01T18:00:00.123";
const LETTERS = { lock: "L", unlock: "A", sale: "S" } as const;
const STATES = { lock: "LOCKED", unlock: "ACTIVE", sale: "SOLD" } as const;
type Call = keyof typeof STATES;

const [seatCount = 0, firstId = 0] = process.argv.slice(2).map(Number);
const ids = Array.from({ length: seatCount }, (_, i) => firstId + i);
const states = Buffer.alloc(seatCount, "A");
let sequence = 1;
/** Changes that are not sent yet. */
let changes: string[] = [];
/** All messages that were sent, and by the last record before each of them, its index. */
const messages: string[] = [];
const indexes = new Map([[sequence, 0]]);

interface Client {
  /** It has all changes up to here; 0 for none. */
  readonly since: number;
}

const app: TemplatedApp = uws.App();
app.ws<Client>("/*", {
  maxBackpressure: 0,
  upgrade: (res, req, context) => {
    const client = { since: Number(req.getQuery("since") ?? 0) };
    const key = req.getHeader("sec-websocket-key");
    res.upgrade(client, key, "", "", context);
  },
  open: (ws) => {
    const { since } = ws.getUserData();
    if (since === 0) ws.send(mapText('"type":"snapshot",'));
    else for (const message of messages.slice(indexes.get(since))) ws.send(message);
    ws.subscribe(TOPIC);
  },
});
app.get("/*", (res) => void res.end(mapText("")));
app.post("/*", (res, req) => {
  const call = req.getUrl().split("/").at(-1) as Call;
  const isProbe = req.getHeader("prefer") !== "";
  res.onAborted(() => {
    // uWebSockets.js requires the callback; there is nothing to clean up.
  });
  res.onData((chunk, isLast) => {
    if (isLast) book(res, { call, isProbe, body: Buffer.from(chunk).toString() });
  });
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listening on http://127.0.0.1:${uws.us_socket_local_port(socket)}\n`);
});

interface Request {
  readonly call: Call;
  readonly isProbe: boolean;
  readonly body: string;
}

function book(res: HttpResponse, { call, isProbe, body }: Request): void {
  const { seats, sessionId } = JSON.parse(body) as {
    seats: readonly { id: number }[];
    sessionId?: string;
  };
  const previous = sequence;
  sequence += 1;
  const shown = seats.map(({ id }) => {
    states.write(LETTERS[call], id - firstId);
    return { id, state: STATES[call], priceId: firstId };
  });
  const time = TIME;
  changes.push(
    JSON.stringify({ sequence, previous, time, call, sessionId, seats: shown, areas: [] }),
  );
  if (changes.length === 1) setImmediate(send);
  res.cork(() => res.end(isProbe ? `{"sequence":${sequence}}` : "true"));
}

function send(): void {
  const message = `{"type":"changes","changes":[${changes.join(",")}]}`;
  changes = [];
  messages.push(message);
  indexes.set(sequence, messages.length);
  app.publish(TOPIC, message);
}

function mapText(head: string): string {
  const columns = JSON.stringify({
    ids,
    states: states.toString(),
    priceIndexes: ids.map(() => 0),
  });
  return `{${head}"sequence":${sequence},"columns":${columns},"expiresAt":{},"areas":[]}`;
}
