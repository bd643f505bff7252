/**
 * The program of the empty uWebSockets.js handlers. The argument says how much a handler does with
 * a request: `constant` only answers, `body` reads the body, `parse` parses it as well.
 */
import uws, { type HttpResponse } from "uWebSockets.js";

const [work] = process.argv.slice(2);

const app = uws.App();
if (work === "constant") {
  app.get("/*", answer);
} else {
  app.post("/*", (res) => {
    res.onAborted(() => {
      // uWebSockets.js requires the callback; there is nothing to clean up.
    });
    res.onData((chunk, isLast) => {
      if (!isLast) return;
      if (work === "parse") JSON.parse(Buffer.from(chunk).toString("utf8"));
      res.cork(() => answer(res));
    });
  });
}
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listening on http://127.0.0.1:${uws.us_socket_local_port(socket)}\n`);
});

function answer(res: HttpResponse): void {
  res.writeHeader("Content-Type", "application/json; charset=utf-8");
  res.end("true");
}
