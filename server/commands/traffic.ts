/** Commands by call and status, as text for Prometheus. Plain counters, as those of requests. */
import { CALLS } from "./command.ts";

const STATUSES = 512;
const NO_CALL = CALLS.length;
const NAME = "frontrow_commands_total";

export class CommandTraffic {
  readonly #counts = new Float64Array((CALLS.length + 1) * STATUSES);

  /** Answers in all. */
  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** @param call - Null for one that does not exist. */
  answered(call: (typeof CALLS)[number] | null, status: number): void {
    const row = call === null ? NO_CALL : CALLS.indexOf(call);
    this.#counts[row * STATUSES + status]! += 1;
  }

  text(): string {
    const lines = [
      `# HELP ${NAME} Answered commands over WebSockets by call and status.`,
      `# TYPE ${NAME} counter`,
    ];
    for (const [i, count] of this.#counts.entries()) {
      if (count === 0) continue;
      const call = CALLS[Math.floor(i / STATUSES)] ?? "none";
      lines.push(`${NAME}{call="${call}",status="${i % STATUSES}"} ${count}`);
    }
    return `${lines.join("\n")}\n`;
  }
}
