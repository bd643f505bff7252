/** The branches a long run of histories must cover, by the names in `Counts`. */
import type { Tally } from "../model/invariants.ts";
import { CLUSTER_FAULTS } from "./plan.ts";
import { PROMISES } from "./promises.ts";

/** So many histories cover all of them. */
export const HISTORIES_FOR_ALL = 500;

const BRANCHES = [
  ...CLUSTER_FAULTS.map((fault) => `fault: ${fault}`),
  ...Object.keys(PROMISES).map((name) => `promise: ${name}`),
  "a host ended: LeadershipLost",
  "a record was found that was not acknowledged",
  "records that nobody saw were lost",
  "an answer was missing",
  "a host was not available",
  "a call was repeated",
  "the outcome of a call remained unknown",
  "a booking was granted",
  "a booking was refused",
];

export function neverInHistories(tally: Tally): string[] {
  return BRANCHES.filter((name) => tally.of(name) === 0);
}
