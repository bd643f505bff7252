/**
 * The front of a host that follows: it answers health and metrics, and sends clients to the leader
 * with everything else.
 */
import type { ClusterStatus } from "../../persistence/cluster/options.ts";
import { type Answer, HEALTHY, page, type Problem, problemAnswer } from "../wire/answers.ts";
import { isRefused } from "../../engine/results.ts";
import type { Copies } from "./copies.ts";
import { COPY_PATH } from "./copy-path.ts";
import type { Exchange, Found, Front, Judged } from "../wire/front.ts";
import { FrontResult } from "../wire/replies.ts";
import { clusterLines } from "./metrics.ts";

const STARTED_SECONDS = Date.now() / 1_000 - process.uptime();
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export class StandbyFront implements Front {
  readonly #status: () => ClusterStatus;
  readonly #mayScrape: (authorization: string) => boolean;
  readonly #copies: Copies;

  /** @param mayScrape - Whether a request with this header may read the metrics. */
  constructor(
    status: () => ClusterStatus,
    mayScrape: (authorization: string) => boolean,
    copies: Copies,
  ) {
    this.#copies = copies;
    this.#status = status;
    this.#mayScrape = mayScrape;
  }

  find(): Found {
    return { bodyBytesMax: 0 };
  }

  judge(): Judged {
    return { refusal: notLeader(this.#status()), organization: null };
  }

  handle(exchange: Exchange): void {
    exchange.respond(this.#answer(exchange));
  }

  /** No answer of this front waits. */
  leave(): void {}

  /** Whatever is wrong with the request, the client must send it to the leader. */
  refuse(_: Problem, { path }: Exchange): Answer {
    return this.#notLeader(path);
  }

  #answer(exchange: Exchange): Answer {
    const { path, authorization } = exchange;
    if (path === "/healthz") return HEALTHY;
    if (path === "/metrics" && this.#mayScrape(authorization)) {
      const lines = [
        ...clusterLines(this.#status()),
        `process_start_time_seconds ${STARTED_SECONDS}`,
      ];
      return page(METRICS_TYPE, `${lines.join("\n")}\n`);
    }
    if (path === COPY_PATH) {
      const copy = this.#copies.open(exchange);
      return isRefused(copy) ? problemAnswer(copy, path, Date.now()) : copy;
    }
    return this.#notLeader(path);
  }

  #notLeader(path: string): Answer {
    return problemAnswer(notLeader(this.#status()), path, Date.now());
  }
}

/** Why a host of a cluster takes no request now, and which host does. */
export function notLeader({ leader, host }: ClusterStatus): Problem {
  const refused = FrontResult.NOT_LEADER;
  if (leader === null || leader.host === host) {
    return { refused, detail: "No host of the cluster leads at the moment; try again shortly." };
  }
  const detail = `This host is a standby; the leader is ${leader.address}.`;
  return { refused, detail, headers: [["X-Frontrow-Leader", leader.address]] };
}
