/**
 * Commands by call and status, and connections by the code that closed them, as text for
 * Prometheus. Plain counters, as those of requests.
 */
import { CALLS } from "./command.ts";

const STATUSES = 512;
const NO_CALL = CALLS.length;
const NAME = "frontrow_commands_total";
const CLOSED = "frontrow_command_connections_closed_total";

export class CommandTraffic {
  readonly #counts = new Float64Array((CALLS.length + 1) * STATUSES);

  readonly #closed = new Map<number, number>();

  /** Answers in all. */
  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** @param call - Null for one that does not exist. */
  answered(call: (typeof CALLS)[number] | null, status: number): void {
    const row = call === null ? NO_CALL : CALLS.indexOf(call);
    this.#counts[row * STATUSES + status]! += 1;
  }

  /** The server closes a connection with that code. */
  closed(code: number): void {
    this.#closed.set(code, (this.#closed.get(code) ?? 0) + 1);
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
    lines.push(
      `# HELP ${CLOSED} Connections for commands that the server closed, by the code of the close.`,
      `# TYPE ${CLOSED} counter`,
      ...[...this.#closed].map(([code, count]) => `${CLOSED}{code="${code}"} ${count}`),
    );
    return `${lines.join("\n")}\n`;
  }
}
