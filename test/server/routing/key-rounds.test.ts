/** Delay until a connection hears of the end of its key. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Credentials } from "../../../server/http/front.ts";
import { type KeyedConnection, KeyRounds } from "../../../server/api/websockets.ts";

class Connection implements KeyedConnection {
  readonly credentials: Credentials = { apiKey: "key", authorization: "", organizationId: "" };
  rounds = 0;
  hasEnded = false;
  hasStopped = false;

  judged(isValid: boolean): void {
    this.rounds += 1;
    this.hasEnded ||= !isValid;
  }

  stop(): void {
    this.hasStopped = true;
  }
}

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test.each([1, 8, 9, 10, 81, 1_000])(
  "whenever a key ends, each of its %d connections hears of it within a second",
  (count) => {
    let isValid = true;
    const rounds = new KeyRounds<Connection>(() => isValid);
    const connections = Array.from({ length: count }, () => new Connection());
    for (const connection of connections) rounds.add(connection);
    for (let step = 0; step < 12; step++) {
      isValid = true;
      vi.advanceTimersByTime(150 + step * 100);
      for (const connection of connections) connection.hasEnded = false;
      isValid = false;
      vi.advanceTimersByTime(1_000);
      expect(connections.filter(({ hasEnded }) => !hasEnded)).toEqual([]);
    }
  },
);

test("a key that many connections share is judged once for all of a step", () => {
  let count = 0;
  const rounds = new KeyRounds<Connection>(() => (count += 1) > 0);
  const connections = Array.from({ length: 800 }, () => new Connection());
  for (const connection of connections) rounds.add(connection);
  vi.advanceTimersByTime(800);
  expect(connections.every(({ rounds: own }) => own === 1)).toBe(true);
  expect(count).toBe(8);
});

test("without connections nothing is judged, and no timer runs", () => {
  const rounds = new KeyRounds<Connection>(() => true);
  const connection = new Connection();
  rounds.add(connection);
  rounds.delete(connection);
  expect(vi.getTimerCount()).toBe(0);
});

test("connections of an organization that has moved are stopped, not judged", () => {
  const rounds = new KeyRounds<Connection>(() => null);
  const connection = new Connection();
  rounds.add(connection);
  vi.advanceTimersByTime(1_000);
  expect(connection).toMatchObject({ hasStopped: true, rounds: 0 });
});
