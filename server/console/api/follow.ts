/**
 * Follows the changes of an event as server-sent events over `fetch`, which takes the key in a
 * header, and opens the answer again after a break. No change is missed: each names the one before.
 */
import type { Change } from "../../client/changes.ts";
import { type Api, ApiError } from "./http.ts";

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 10_000;

export interface Following {
  /** The changes after this sequence number. */
  readonly since: number;
  readonly onChanges: (changes: readonly Change[]) => void;
  readonly onOpen: () => void;
  readonly onBreak: () => void;
  /** What is shown must be read again: the changes in between are not kept. */
  readonly onGap: () => void;
  /** The key is no longer valid, or the event does not exist any more. */
  readonly onEnd: (error: ApiError) => void;
}

/** @returns Ends it. */
export function follow(api: Api, eventId: string, following: Following): () => void {
  const end = new AbortController();
  void run(api, eventId, following, end.signal);
  return () => end.abort();
}

async function run(
  api: Api,
  eventId: string,
  following: Following,
  signal: AbortSignal,
): Promise<void> {
  let { since } = following;
  let waitMs = WAIT_MS_MIN;
  const take = (changes: readonly Change[]) => {
    waitMs = WAIT_MS_MIN;
    since = changes.at(-1)!.sequence;
    following.onChanges(changes);
  };
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream" };
      // oxlint-disable-next-line no-await-in-loop -- one connection after the other
      const response = await api.open(`/events/${eventId}/changes/`, {
        query: { since },
        headers,
        signal,
      });
      following.onOpen();
      // oxlint-disable-next-line no-await-in-loop
      await readEvents(response, take);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status === 410) return following.onGap();
      const isOver = error instanceof ApiError && [403, 404].includes(error.status);
      if (isOver) return following.onEnd(error);
    }
    if (signal.aborted) return;
    following.onBreak();
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(WAIT_MS_MAX, waitMs * 2);
  }
}

/** Reads until the answer ends. Changes that arrive together are taken together. */
async function readEvents(
  response: Response,
  take: (changes: readonly Change[]) => void,
): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- pieces of one answer
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop()!;
    const changes = parts.flatMap((part) => {
      const line = part.split("\n").find((one) => one.startsWith("data:"));
      return line === undefined ? [] : [JSON.parse(line.slice(5)) as Change];
    });
    if (changes.length > 0) take(changes);
  }
}
