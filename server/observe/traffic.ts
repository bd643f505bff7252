/**
 * Requests and their durations by route. Plain counters: the labels of a metrics library cost more
 * per request than the decision of a booking. The Prometheus text is built on demand.
 */

/** The part of a route that labels its metrics. */
export interface RouteLabels {
  readonly method: string;
  readonly path: string;
}

/** Upper bounds of the histogram in milliseconds, from a fraction of a sync to a stall. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Statuses are below it. */
const STATUS_END = 600;

class RouteTraffic {
  /** Index: the status. */
  readonly byStatus = new Float64Array(STATUS_END);
  /** Answers per bucket of BUCKETS_MS; the last element counts the slower ones. */
  readonly buckets = new Float64Array(BUCKETS_MS.length + 1);
  count = 0;
  sumMs = 0;
}

export class Traffic {
  readonly #routes = new Map<RouteLabels | undefined, RouteTraffic>();

  /**
   * @param route - Undefined for a path that does not exist.
   * @param durationMs - Time since the last byte of the request.
   */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    let traffic = this.#routes.get(route);
    if (traffic === undefined) {
      traffic = new RouteTraffic();
      this.#routes.set(route, traffic);
    }
    traffic.byStatus[status]! += 1;
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && durationMs > BUCKETS_MS[bucket]!) bucket++;
    traffic.buckets[bucket]! += 1;
    traffic.count += 1;
    traffic.sumMs += durationMs;
  }

  /** Prometheus text format. Cost: O(routes called). */
  text(): string {
    const requests = "frontrow_http_requests_total";
    const durations = "frontrow_http_request_duration_seconds";
    const lines = [
      `# HELP ${requests} Answered requests by route and status.`,
      `# TYPE ${requests} counter`,
    ];
    for (const [route, { byStatus }] of this.#routes) {
      for (const [status, count] of byStatus.entries()) {
        if (count === 0) continue;
        lines.push(`${requests}{${labelsOf(route)},status="${status}"} ${count}`);
      }
    }
    lines.push(
      "",
      `# HELP ${durations} Time from the last byte of a request to its answer, including the disk.`,
      `# TYPE ${durations} histogram`,
    );
    for (const [route, traffic] of this.#routes) {
      lines.push(...durationLines(durations, labelsOf(route), traffic));
    }
    return `${lines.join("\n")}\n`;
  }
}

function durationLines(name: string, labels: string, traffic: RouteTraffic): string[] {
  let atMost = 0;
  const lines = BUCKETS_MS.map((endMs, i) => {
    atMost += traffic.buckets[i]!;
    return `${name}_bucket{le="${endMs / 1_000}",${labels}} ${atMost}`;
  });
  return [
    ...lines,
    `${name}_bucket{le="+Inf",${labels}} ${traffic.count}`,
    `${name}_sum{${labels}} ${traffic.sumMs / 1_000}`,
    `${name}_count{${labels}} ${traffic.count}`,
  ];
}

/** Paths of the route table need no escaping. */
function labelsOf(route: RouteLabels | undefined): string {
  return `method="${route?.method.toUpperCase() ?? ""}",route="${route?.path ?? "none"}"`;
}
