/**
 * The program of a server that only publishes: locks change an array and are answered at once, and
 * uWebSockets.js sends each message to all clients. There is no log and no rule, and nobody may
 * come back or read slowly. The messages are as long as those of Frontrow, and as many locks share
 * one. What a client process and the kernel need for them, any server on this machine needs.
 *
 * The arguments are the seats of the event, and the id of the first one.
 */
import uws, { type HttpResponse, type TemplatedApp } from "uWebSockets.js";

const TOPIC = "changes";
/** Changes of one message, at most; when there are more, all get a snapshot. */
const CHANGES_MAX = 1_000;
/** After a message the server rests: as long as it took to send, and at least this long. */
const REST_MS_MIN = 4;
const SNAPSHOT_REST_MS = 500;
const TIME = "2030-05-01T18:00:00.123";
const LETTERS = { lock: "L", unlock: "A" } as const;
const STATES = { lock: "LOCKED", unlock: "ACTIVE" } as const;
type Call = keyof typeof STATES;

const [seatCount = 0, firstId = 0] = process.argv.slice(2).map(Number);
const ids = Array.from({ length: seatCount }, (_, i) => firstId + i);
const states = Buffer.alloc(seatCount, "A");
let sequence = 1;
/** Changes that are not sent yet. */
let changes: string[] = [];
let isResting = false;

const app: TemplatedApp = uws.App();
app.ws("/*", {
  maxBackpressure: 0,
  open: (ws) => {
    ws.send(mapText('"type":"snapshot",'));
    ws.subscribe(TOPIC);
  },
});
app.get("/*", (res) => void res.end(mapText("")));
app.post("/*", (res, req) => {
  const call: Call = req.getUrl().endsWith("/lock") ? "lock" : "unlock";
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
  if (!isResting) {
    isResting = true;
    setImmediate(send);
  }
  res.cork(() => res.end(isProbe ? `{"sequence":${sequence}}` : "true"));
}

function send(): void {
  const gathered = changes;
  changes = [];
  const isOverrun = gathered.length > CHANGES_MAX;
  const startMs = performance.now();
  const message = isOverrun
    ? mapText('"type":"snapshot",')
    : `{"type":"changes","changes":[${gathered.join(",")}]}`;
  app.publish(TOPIC, message);
  // The library sends at the end of the turn.
  setImmediate(() => {
    const tookMs = performance.now() - startMs;
    setTimeout(rested, Math.max(isOverrun ? SNAPSHOT_REST_MS : REST_MS_MIN, tookMs));
  });
}

function rested(): void {
  isResting = changes.length > 0;
  if (isResting) send();
}

function mapText(head: string): string {
  const columns = JSON.stringify({
    ids,
    states: states.toString(),
    priceIndexes: ids.map(() => 0),
  });
  return `{${head}"sequence":${sequence},"columns":${columns},"expiresAt":{},"areas":[]}`;
}
