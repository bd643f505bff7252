/** The option `--cluster`: where the member of etcd is, and the cell. */

export interface CellAddress {
  /** Host and port of the member of etcd. */
  readonly etcd: string;
  readonly cell: string;
}

const PROTOCOL = "etcd:";
const DEFAULT_PORT = "2379";
const CELL = /^\/([A-Za-z0-9][A-Za-z0-9._-]{0,63})$/;

/** @returns Null when the text is not `etcd://host[:port]/cell`. */
export function parseCellAddress(text: string): CellAddress | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url?.protocol !== PROTOCOL || url.hostname === "") return null;
  const { hostname, port, pathname, search, hash, username } = url;
  const [, cell] = CELL.exec(pathname) ?? [];
  if (cell === undefined || search + hash + username !== "") return null;
  return { etcd: `${hostname}:${port === "" ? DEFAULT_PORT : port}`, cell };
}
