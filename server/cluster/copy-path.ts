/** Where a host that joins gets the store of a peer. */
export const COPY_PATH = "/api/internal/copy";
export const COPY_PROTOCOL = "frontrow.copy.v1";
