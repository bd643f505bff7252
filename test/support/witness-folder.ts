/** Where test workers note the answers that they saw, a file each, for the table of the contract. */
import path from "node:path";

export const WITNESS_FOLDER = path.resolve(
  import.meta.dirname,
  "../../node_modules/.cache/frontrow-witness",
);

/** One answer: `POST /path/{id}`, its status, the test that got it. */
export interface Witnessed {
  readonly row: string;
  readonly status: number;
  readonly test: string;
}
