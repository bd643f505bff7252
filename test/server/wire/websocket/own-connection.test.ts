/** The connection of a server to itself, which must last as long as the server. */
import uws from "uWebSockets.js";
import { expect, onTestFinished, test, vi } from "vitest";
import { connectToItself } from "../../../../server/wire/websocket/own-connection.ts";

/** With pings, the library takes no timeout for one of 252 seconds. */
test("the connection to itself has no timeout, and sends no pings", async () => {
  const { App } = uws;
  const behaviors: unknown[] = [];
  const made = vi.spyOn(uws, "App").mockImplementation(() => {
    const app = App();
    const listen = app.ws.bind(app);
    app.ws = (pattern, behavior) => {
      behaviors.push(behavior);
      return listen(pattern, behavior);
    };
    return app;
  });
  onTestFinished(() => made.mockRestore());
  const lost: unknown[] = [];
  const own = await connectToItself((error) => void lost.push(error));
  expect(behaviors).toMatchObject([{ idleTimeout: 0, sendPingsAutomatically: false }]);
  let corked = 0;
  own.cork(() => (corked += 1));
  own.close();
  expect([corked, lost]).toEqual([1, []]);
});
