/** Starts the clients that follow an event: a crowd, and a few in it whose delays are measured. */
import { once } from "node:events";
import { forkModule } from "../harness/processes.ts";
import type { Followings, FollowPlan, FollowReport, FollowStep } from "./followers.ts";

/**
 * One of so many clients is measured. Those have a process of their own: where 2,000 clients share
 * one, a client has a change late because the others read before it.
 */
const MEASURED_OF = 20;

export type ClientsPlan = Omit<FollowPlan, "areMeasured"> & { readonly clients: number };

/** What all clients had; the delays are those of the few. */
export interface AllFollowings extends Omit<Followings, "processorShare"> {
  /** Processor seconds per second of the crowd, and of the few. */
  readonly crowdShare: number;
  readonly measuredShare: number;
}

/** Settles when each client has a snapshot, and there was an answer to a lock. */
export async function startFollowing({ clients, ...plan }: ClientsPlan) {
  const [crowd, few] = [new Program(), new Program()];
  await crowd.take({ plan: { ...plan, areMeasured: false } });
  await few.take({ plan: { ...plan, areMeasured: true } });
  // A server may send to its clients in the order in which they came: the few are among all others.
  for (let opened = 0; opened < clients; opened += MEASURED_OF) {
    await few.take({ open: 1 });
    await crowd.take({ open: Math.min(MEASURED_OF, clients - opened) - 1 });
  }
  await Promise.all([crowd.take("begin"), few.take("begin")]);
  const end = async () => {
    const [ofCrowd, ofFew] = await Promise.all([crowd.end(), few.end()]);
    return together(ofCrowd, ofFew);
  };
  return { end };
}

class Program {
  readonly #child = forkModule(new URL("./followers.js", import.meta.url));
  readonly #ended = once(this.#child, "exit");

  /** @throws Error when a client misses a change, or a program has ended. */
  async take(step: FollowStep): Promise<FollowReport> {
    const reported = once(this.#child, "message") as Promise<[FollowReport]>;
    this.#child.send(step);
    const lost = this.#ended.then((): [FollowReport] => [{ error: "the clients have ended" }]);
    const [report] = await Promise.race([reported, lost]);
    if (typeof report === "object" && "error" in report) throw new Error(report.error);
    return report;
  }

  async end(): Promise<Followings> {
    const { measured } = (await this.take("over")) as { readonly measured: Followings };
    this.#child.disconnect();
    await this.#ended;
    return measured;
  }
}

function together(crowd: Followings, few: Followings): AllFollowings {
  const sum = (count: (followings: Followings) => number) => count(crowd) + count(few);
  return {
    equal: sum(({ equal }) => equal),
    equalAfterMs: Math.max(crowd.equalAfterMs, few.equalAfterMs),
    delaysMs: few.delaysMs,
    probes: few.probes,
    returns: sum(({ returns }) => returns),
    reconnects: sum(({ reconnects }) => reconnects),
    snapshots: sum(({ snapshots }) => snapshots),
    framesPerSecond: sum(({ framesPerSecond }) => framesPerSecond),
    megabytesPerSecond: sum(({ megabytesPerSecond }) => megabytesPerSecond),
    crowdShare: crowd.processorShare,
    measuredShare: few.processorShare,
  };
}
