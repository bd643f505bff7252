/**
 * The program of a server that decides nothing: it answers each request with `true` once etcd has
 * a frame with as many bytes as the log of a cluster's leader needs for it. It gathers requests and
 * puts frames as the leader does, with the same client of etcd, and keeps nothing itself. The
 * argument is the host and port of a member of etcd.
 */
import uws, { type HttpResponse } from "uWebSockets.js";
import { CellKeys, type Reply, type TransactionResult } from "../../persistence/cluster/etcd.ts";
import { Gathering } from "../../persistence/store/open-store.ts";
import { openEtcd } from "../../persistence/cluster/member.ts";
import { Replicator } from "../../persistence/cluster/leader.ts";
import { realScheduler, realTime } from "../../persistence/disk/clock.ts";
import { batchBytes } from "./floors.ts";

const CELL = "floor";
const DEADLINE_MS = 2_000;

const [address] = process.argv.slice(2);
const keys = new CellKeys(CELL);
const etcd = openEtcd(address!);
const replicator = new Replicator({
  etcd,
  time: realTime,
  scheduler: realScheduler,
  keys,
  token: await lead(),
  onFault: (fault) => {
    throw fault;
  },
});
const gathering = new Gathering(realScheduler, () => waiting.length);
let waiting: HttpResponse[] = [];
let isBusy = false;
let isGathering = false;
let offset = 0;

const app = uws.App();
app.post("/*", (res) => {
  res.onAborted(() => {
    // uWebSockets.js requires the callback; the generator hangs up when nothing is in flight.
  });
  res.onData((_chunk, isLast) => {
    if (isLast) add(res);
  });
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listening on http://127.0.0.1:${uws.us_socket_local_port(socket)}\n`);
});

/** @returns The token of the only leader that this cell ever has. */
async function lead(): Promise<number> {
  const put = { key: keys.leader, value: Buffer.from(CELL), leaseId: null };
  const change = { compares: [], puts: [put], deletes: [], otherwiseGet: [] };
  const reply = await new Promise<Reply<TransactionResult>>((resolve) => {
    etcd.transact(change, DEADLINE_MS, resolve);
  });
  if (reply.kind !== "done") throw new Error(`etcd does not answer: ${reply.reason}`);
  return reply.value.revision;
}

function add(res: HttpResponse): void {
  waiting.push(res);
  if (isBusy) return;
  if (isGathering) gathering.added();
  else gather();
}

function gather(): void {
  isGathering = true;
  gathering.begin(sendFrame);
}

function sendFrame(): void {
  const frame = Buffer.alloc(batchBytes(waiting.length), 1);
  const answered = waiting;
  waiting = [];
  [isBusy, isGathering] = [true, false];
  replicator.commit(frame, { number: 1, offset }, () => {
    offset += frame.length;
    isBusy = false;
    gathering.answered();
    for (const res of answered) res.cork(() => answer(res));
    if (waiting.length > 0 && !isGathering) gather();
  });
}

function answer(res: HttpResponse): void {
  res.writeHeader("Content-Type", "application/json; charset=utf-8");
  res.end("true");
}
