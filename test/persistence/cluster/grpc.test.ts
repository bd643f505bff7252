/** Calls to a server with wrong, late or no answers, and to no server. */
import http2 from "node:http2";
import net from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Answer,
  EtcdRefusal,
  type MemberStatus,
  type RangeResult,
  type TransactionResult,
} from "../../../persistence/cluster/etcd.ts";
import { GrpcChannel, GrpcEtcd } from "../../../persistence/cluster/grpc-etcd.ts";
import { describeWith } from "../../support/programs.ts";
import { asked, EtcdMembers, freePorts } from "../../support/cluster/etcd-members.ts";
import { sleep } from "../../support/server-process.ts";
import { folderOf } from "../store/store-fixture.ts";

const DEADLINE_MS = 1_000;
const SHORT_MS = 100;
/** A connection without an answer to a probe ends after 2 s. */
const PROBED_MS = 2_500;

type Stream = http2.ServerHttp2Stream;
const HEAD = { ":status": 200, "content-type": "application/grpc" };
const OK = { "grpc-status": "0" };
/** The version, in the answer to a call of the status. */
const VERSION = Buffer.from("\x12\x013");

/** An error, in such an answer. */
function errorField(text: string): Buffer {
  return Buffer.from(`\x42${String.fromCharCode(text.length)}${text}`);
}

function framed(message: Buffer, flag = 0, length = message.length): Buffer {
  const prefix = Buffer.from([flag, 0, 0, 0, 0]);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

function answer(stream: Stream, bytes: Buffer, trailers: http2.OutgoingHttpHeaders): void {
  stream.respond(HEAD, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(bytes);
}

/** @returns Its address, and a count of its connections. */
async function listen(server: net.Server) {
  const sockets = new Set<net.Socket>();
  const seen = { address: "", connections: 0 };
  server.on("connection", (socket: net.Socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  seen.address = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  return seen;
}

function serve(onStream: (stream: Stream) => void) {
  const server = http2.createServer();
  server.on("stream", (stream: Stream) => {
    stream.on("error", () => {});
    onStream(stream);
  });
  return listen(server);
}

function etcdAt(address: string): GrpcEtcd {
  const etcd = new GrpcEtcd(address);
  onTestFinished(() => etcd.close());
  return etcd;
}

function statusOf(etcd: GrpcEtcd, deadlineMs = DEADLINE_MS) {
  return asked((reply: Answer<MemberStatus>) => etcd.status(deadlineMs, reply));
}

function watchEnd(etcd: GrpcEtcd): Promise<[EtcdRefusal | null, string]> {
  return new Promise((resolve) => {
    const onEnd = (refusal: EtcdRefusal | null, reason: string) => resolve([refusal, reason]);
    etcd.watch({ from: "a", to: "b", startRevision: 1, onEvents: () => {}, onEnd });
  });
}

describe("an answer that breaks the rules", () => {
  const BROKEN: Readonly<Record<string, (stream: Stream) => void>> = {
    "a compressed message": (stream) => answer(stream, framed(VERSION, 1), OK),
    "a length of 4 GiB": (stream) => {
      stream.respond(HEAD);
      stream.write(framed(VERSION, 0, 2 ** 32 - 1));
    },
    "a message that is cut off": (stream) => answer(stream, framed(VERSION, 0, 9), OK),
    "a prefix that is cut off": (stream) => answer(stream, Buffer.from([0, 0]), OK),
    "bytes that are no message": (stream) => answer(stream, framed(Buffer.from("\x12\x7f")), OK),
    "a number beyond 2^53": (stream) =>
      answer(stream, framed(Buffer.from("18ffffffffffffffff7f", "hex")), OK),
    "a text where a number belongs": (stream) =>
      answer(stream, framed(Buffer.from("\x1a\x01a")), OK),
    "no message": (stream) => answer(stream, Buffer.alloc(0), OK),
    "no status": (stream) => answer(stream, framed(VERSION), {}),
    "a status that is no number": (stream) =>
      answer(stream, framed(VERSION), { "grpc-status": "good" }),
    "status 503 of HTTP": (stream) => {
      stream.respond({ ":status": 503 });
      stream.end("no upstream");
    },
    "a stream that is reset": (stream) => {
      stream.respond(HEAD);
      stream.write(framed(VERSION));
      stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
    },
    "a connection that ends": (stream) => stream.session!.destroy(),
  };

  test.each(Object.entries(BROKEN))("%s leaves open what became of the call", async (_, act) => {
    const { address } = await serve(act);
    const etcd = etcdAt(address);
    const reply = await statusOf(etcd);
    expect(reply.kind).toBe("unknown");
    expect(reply).not.toMatchObject({ reason: "no answer in time" });
  });

  test.each(Object.entries(BROKEN))("%s ends a watch", async (_, act) => {
    const { address } = await serve(act);
    expect((await watchEnd(etcdAt(address)))[0]).toBe(null);
  });

  test("a server that does not speak HTTP/2 leaves the call open", async () => {
    const server = net.createServer((socket) => {
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    const { address } = await listen(server);
    expect((await statusOf(etcdAt(address))).kind).toBe("unknown");
    expect((await watchEnd(etcdAt(address)))[0]).toBe(null);
  });
});

test("a watch whose event has no key ends", async () => {
  const { address } = await serve((stream) => {
    stream.respond(HEAD);
    stream.write(framed(Buffer.from("\x5a\x00")));
  });
  expect(await watchEnd(etcdAt(address))).toEqual([null, "a malformed message"]);
});

describe("an answer with a status", () => {
  const STATUSES = [
    ["5", "etcdserver: requested lease not found", EtcdRefusal.LEASE_GONE],
    ["11", "etcdserver: mvcc: required revision has been compacted", EtcdRefusal.COMPACTED],
    ["8", "etcdserver: mvcc: database space exceeded", EtcdRefusal.NO_SPACE],
    ["3", "etcdserver: request is too large", EtcdRefusal.OTHER],
    ["14", "etcdserver: request timed out", null],
  ] as const;

  test.each(STATUSES)("%s with “%s” is a refusal only when it says so", async (...given) => {
    const [status, message, refusal] = given;
    const headers = { ...HEAD, "grpc-status": status, "grpc-message": encodeURIComponent(message) };
    const { address } = await serve((stream) => stream.respond(headers, { endStream: true }));
    const expected = refusal === null ? { kind: "unknown" } : { kind: "refused", refusal };
    expect(await statusOf(etcdAt(address))).toEqual({ ...expected, reason: message });
  });

  test("a message with a wrong escape is shown as it is", async () => {
    const headers = { ...HEAD, "grpc-status": "14", "grpc-message": "100%" };
    const { address } = await serve((stream) => stream.respond(headers, { endStream: true }));
    expect(await statusOf(etcdAt(address))).toEqual({ kind: "unknown", reason: "100%" });
  });
});

describe("a connection", () => {
  test("is refused while nobody listens, and opened again by the next call", async () => {
    const [port] = await freePorts(1);
    const etcd = etcdAt(`127.0.0.1:${port}`);
    const refused = await statusOf(etcd);
    expect(refused).toMatchObject({ kind: "unknown" });
    expect(refused).not.toMatchObject({ reason: "no answer in time" });
    const server = http2.createServer();
    server.on("stream", (stream: Stream) => answer(stream, framed(VERSION), OK));
    await new Promise<void>((resolve) => void server.listen(port, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    expect(await statusOf(etcd)).toMatchObject({ kind: "done", value: { version: "3" } });
    await etcd.close();
  });

  test("is replaced when it answers neither a call nor a probe", async () => {
    const seen = await listen(net.createServer(() => {}));
    const etcd = etcdAt(seen.address);
    const ended = watchEnd(etcd);
    expect(await statusOf(etcd, SHORT_MS)).toEqual({
      kind: "unknown",
      reason: "no answer in time",
    });
    expect(await ended).toEqual([null, "the server does not answer probes"]);
    await statusOf(etcd, SHORT_MS);
    expect(seen.connections).toBe(2);
  });

  test("is kept when it answers probes, whatever a call takes", async () => {
    const seen = await serve(() => {});
    const etcd = etcdAt(seen.address);
    await statusOf(etcd, SHORT_MS);
    await sleep(PROBED_MS);
    await statusOf(etcd, SHORT_MS);
    expect(seen.connections).toBe(1);
  });

  test("is replaced before it has no more numbers for streams", async () => {
    const seen = await serve((stream) => answer(stream, framed(VERSION), OK));
    const channel = new GrpcChannel(seen.address, 2);
    onTestFinished(() => channel.close());
    for (let calls = 0; calls < 5; calls++) {
      const status = await new Promise((resolve) => {
        const request = { path: "/a/b", message: Buffer.alloc(0) };
        channel.call(request, DEADLINE_MS, (end) => resolve(end.status));
      });
      expect(status).toBe(0);
    }
    expect(seen.connections).toBe(3);
  });
});

test("a late answer to a keep-alive is not taken for that of the next one", async () => {
  const streams: Stream[] = [];
  const { address } = await serve((stream) => {
    streams.push(stream);
    // Both are answered at once on the stream of the first one.
    if (streams.length === 2 && !streams[0]!.destroyed) {
      answer(streams[0]!, framed(Buffer.from("\x18\x02")), OK);
    }
  });
  const etcd = etcdAt(address);
  const first = asked((reply: Answer<unknown>) => etcd.keepAlive("1", DEADLINE_MS, reply));
  await sleep(SHORT_MS);
  const second = asked((reply: Answer<unknown>) => etcd.keepAlive("1", SHORT_MS, reply));
  expect((await second).kind).toBe("unknown");
  expect(await first).toEqual({ kind: "done", value: { ttlMs: 2_000 } });
});

test("nothing is called after the end of the client, and a cancelled watch is silent", async () => {
  const { address } = await serve((stream) => stream.respond(HEAD));
  const etcd = etcdAt(address);
  const called: string[] = [];
  const watch = () =>
    etcd.watch({
      from: "a",
      to: "b",
      startRevision: 1,
      onEvents: () => called.push("events"),
      onEnd: () => called.push("end"),
    });
  watch();
  const cancel = watch();
  etcd.status(SHORT_MS, () => called.push("status"));
  await sleep(SHORT_MS / 2);
  cancel();
  await etcd.close();
  watch();
  etcd.status(SHORT_MS, () => called.push("status"));
  await sleep(2 * SHORT_MS);
  expect(called).toEqual([]);
});

test("that a member has no leader is an error of it, but not an alarm", async () => {
  const alarm = "memberID:10276657743932975437 alarm:NOSPACE ";
  const errors = ["etcdserver: no leader", alarm].map(errorField);
  const status = Buffer.concat([VERSION, ...errors]);
  const { address } = await serve((stream) => answer(stream, framed(status), OK));
  const reply = await statusOf(etcdAt(address));
  expect(reply).toMatchObject({ value: { leaderId: null, alarms: [alarm] } });
});

describeWith(["etcd"], "with etcd", () => {
  test("a range and a watch of 20 MiB arrive whole from etcd", { timeout: 120_000 }, async () => {
    const members = await EtcdMembers.start(folderOf());
    onTestFinished(() => members.end());
    const etcd = etcdAt(members.address(0));
    const values = Array.from({ length: 20 }, (_, n) => Buffer.alloc(2 ** 20, n));
    for (const [n, value] of values.entries()) {
      const puts = [{ key: `key ${n + 10}`, value, leaseId: null }];
      const change = { compares: [], puts, deletes: [], otherwiseGet: [] };
      const reply = await asked((answered: Answer<TransactionResult>) => {
        etcd.transact(change, 20_000, answered);
      });
      expect(reply.kind).toBe("done");
    }
    const all = { from: "key", to: "kez" };
    const range = await asked((answered: Answer<RangeResult>) => {
      etcd.range({ ...all, limit: 0 }, 20_000, answered);
    });
    if (range.kind !== "done") throw new Error(range.reason);
    const read = Buffer.concat(range.value.pairs.map(({ value }) => value));
    expect(read.equals(Buffer.concat(values))).toBe(true);
    const seen: Buffer[] = [];
    await new Promise<void>((resolve, reject) => {
      etcd.watch({
        ...all,
        startRevision: 1,
        onEvents: (events) => {
          for (const event of events) if (event.kind === "put") seen.push(event.pair.value);
          if (seen.length === values.length) resolve();
        },
        onEnd: (_, reason) => reject(new Error(reason)),
      });
    });
    expect(Buffer.concat(seen).equals(Buffer.concat(values))).toBe(true);
  });
});
