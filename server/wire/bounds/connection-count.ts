/** Bounds the connections of a server. */

/** Called for each connection that opens (1) or closes (-1); the library does not declare it. */
interface Filters {
  filter(changed: (connection: { close(): unknown }, change: 1 | -1) => void): unknown;
}

/** Refuses connections above the limit: each takes a file descriptor, and the log needs some. */
export function countConnections(app: unknown, connectionsMax: number) {
  const counts = { connections: 0, connectionsMax, connectionsRefused: 0 };
  (app as Filters).filter((connection, change) => {
    counts.connections += change;
    if (change < 0 || counts.connections <= connectionsMax) return;
    counts.connectionsRefused += 1;
    connection.close();
  });
  return counts;
}
