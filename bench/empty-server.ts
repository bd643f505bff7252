/** What a lock is measured against: uWebSockets.js reading the body and parsing it, and no more. */
import uws from "uWebSockets.js";

const app = uws.App();
app.any("/*", (res) => {
  res.onAborted(() => {
    // Nothing is kept of a request.
  });
  res.onData((chunk, isLast) => {
    if (!isLast) return;
    JSON.parse(Buffer.from(chunk).toString("utf8"));
    res.cork(() => {
      res.writeHeader("Content-Type", "application/json; charset=utf-8");
      res.end("true");
    });
  });
});
app.listen("127.0.0.1", 0, (socket) => {
  if (socket === false) process.exit(1);
  process.stdout.write(`listening on http://127.0.0.1:${uws.us_socket_local_port(socket)}\n`);
});
