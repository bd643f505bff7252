/** Lag of a standby behind the leader, from the positions of both in etcd. */
import { setTimeout } from "node:timers/promises";
import {
  CellKeys,
  type Etcd,
  type RangeResult,
  type Reply,
} from "../../persistence/cluster/etcd.ts";
import { openEtcd } from "../../persistence/cluster/member.ts";
import { HostRole, type HostStatus } from "../../persistence/cluster/options.ts";
import { CELL } from "../contenders/etcd.ts";

/** Hosts say something each second. */
const POLL_MS = 100;
const DEADLINE_MS = 1_000;

/** @returns The longest lag during the work, in milliseconds; null when the work was too short. */
export async function lagDuring(member: string, work: () => Promise<unknown>) {
  const etcd = openEtcd(member);
  const said = new Map<string, HostStatus>();
  const state = { isOver: false };
  const done = work().finally(() => (state.isOver = true));
  while (!state.isOver) {
    for (const status of await statuses(etcd)) said.set(`${status.host} ${status.atMs}`, status);
    await setTimeout(POLL_MS);
  }
  await done;
  await etcd.close();
  return longestLag([...said.values()]);
}

async function statuses(etcd: Etcd): Promise<HostStatus[]> {
  const { hosts } = new CellKeys(CELL);
  const reply = await new Promise<Reply<RangeResult>>((resolve) => {
    etcd.range({ ...hosts, limit: 0 }, DEADLINE_MS, resolve);
  });
  if (reply.kind !== "done") return [];
  return reply.value.pairs.map(({ value }) => JSON.parse(value.toString()) as HostStatus);
}

/** Between two of its statuses, the leader counts as writing records at an even rate. */
export function longestLag(said: readonly HostStatus[]): number | null {
  const byTime = said.toSorted((a, b) => a.atMs - b.atMs);
  const leader = byTime.filter(({ role }) => role === HostRole.LEADER);
  const lags = byTime.flatMap(({ role, sequence, atMs }) => {
    const next = leader.findIndex((one) => one.sequence > sequence);
    const [before, from, to] = [leader[next - 2], leader[next - 1], leader[next]];
    if (role === HostRole.LEADER || to === undefined || from === undefined) return [];
    // The load began since the status before.
    if (before === undefined || before.sequence === from.sequence) return [];
    const share = (sequence - from.sequence) / (to.sequence - from.sequence);
    return [Math.max(0, atMs - (from.atMs + share * (to.atMs - from.atMs)))];
  });
  return lags.length === 0 ? null : Math.max(...lags);
}
