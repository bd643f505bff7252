/** The checker's demands on a host beginning to lead after a later one, and on the later one. */
import { beforeEach, describe, expect, test } from "vitest";
import { apply, noteSequence } from "../../../engine/apply.ts";
import { State } from "../../../engine/state.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { Counts } from "./promises.ts";
import { type Reign, Truth } from "./truth.ts";

const RECORDS = new World([section("Stalls", { A: "1 2" })]).journal.kept;
/** Records of the first leader; later ones are of the second. */
const FIRST = 4;
const [FIRST_SEGMENT, LATE_SEGMENT, SECOND_SEGMENT] = [1, 2, 4];

let truth: Truth;
let second: Reign;

/** The state after the first records. */
function stateOf(sequence: number): State {
  const state = new State();
  for (const kept of RECORDS.slice(0, sequence)) {
    noteSequence(state, kept.sequence, kept.record);
    apply(state, kept.record, kept.timeMs, kept.sequence);
  }
  return state;
}

function begin(name: string, segment: number, sequence: number, state = stateOf(sequence)) {
  const reign = truth.observe(name);
  return { reign, isLatest: truth.begin(reign, { segment, sequence, state }) };
}

function append(reign: Reign, from: number, to: number): void {
  for (const { sequence, timeMs, record } of RECORDS.slice(from - 1, to)) {
    reign.beforeApply(sequence, timeMs, record);
  }
}

/** Two leaders; another host took over in between, and does not know yet what it found. */
beforeEach(() => {
  truth = new Truth(new Counts());
  const { reign: first } = begin("first", FIRST_SEGMENT, 0);
  append(first, 1, FIRST);
  first.durable(FIRST);
  ({ reign: second } = begin("second", SECOND_SEGMENT, FIRST));
  append(second, FIRST + 1, FIRST + 2);
  second.durable(FIRST + 1);
});

describe("a host begins after a later one", () => {
  test("it may lack what that one acknowledged, which goes on acknowledging", () => {
    expect(begin("late", LATE_SEGMENT, FIRST).isLatest).toBe(false);
    second.durable(FIRST + 2);
    expect(truth.sequence).toBe(FIRST + 2);
  });

  test("the next leader finds what the later one appended", () => {
    begin("late", LATE_SEGMENT, FIRST);
    expect(begin("third", SECOND_SEGMENT + 1, FIRST + 2).isLatest).toBe(true);
    expect(truth.sequence).toBe(FIRST + 2);
  });

  test("it may acknowledge nothing", () => {
    const { reign } = begin("late", LATE_SEGMENT, FIRST);
    append(reign, FIRST + 1, FIRST + 1);
    expect(() => reign.durable(FIRST + 1)).toThrow(/^forked .* late acknowledged record 5$/);
  });

  test.each([FIRST - 1, FIRST + 1])("it has to have what was there: not %i records", (sequence) => {
    const late = () => begin("late", LATE_SEGMENT, sequence);
    expect(late).toThrow(new RegExp(`^lost .* late has ${sequence} records, and second had 4$`));
  });

  test("its state has to be the one of its records", () => {
    const late = () => begin("late", LATE_SEGMENT, FIRST, stateOf(FIRST - 1));
    expect(late).toThrow(/^state .* late: /);
  });
});

test("two hosts cannot begin the same segment", () => {
  const other = () => begin("other", SECOND_SEGMENT, FIRST + 1);
  expect(other).toThrow(/^forked .* other began segment 4 as another host did$/);
});

test("a later leader has everything that was acknowledged", () => {
  const third = () => begin("third", SECOND_SEGMENT + 1, FIRST);
  expect(third).toThrow(/^lost .* third has 4 of 5 records$/);
});
