/** Changes that fill the connection of a slow reader. */
import type { TestServer } from "../../support/server.ts";

/** Makes many changes, and waits until the feed has made a message of them. */
export async function makeMessage(server: TestServer): Promise<void> {
  const { live } = server.services;
  const { messages } = live.stats;
  const session = "s".repeat(200);
  for (let i = 0; i < 25; i++) {
    server.world.book("lock", server.selection(session, "A1", "A2"));
    server.world.book("unlock", server.selection(session, "A1", "A2"));
  }
  // Beside so much other work the feed rests; with several messages the client would catch up.
  while (live.stats.messages === messages && live.stats.streams + live.stats.eventStreams > 0) {
    // oxlint-disable-next-line no-await-in-loop -- one turn of the event loop after the other
    await new Promise(setImmediate);
  }
}
