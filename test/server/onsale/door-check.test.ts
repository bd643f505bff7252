/** The check of a door finds each kind of unfairness. */
import { createHash, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { checkDoor, type DoorData, type VisitorRecord } from "../../../server/onsale/door-check.ts";

const OPENS_MS = Date.parse("2026-05-01T08:00:00.000Z");
/** From the second of an invitation until it comes. */
const TICK_MS = 40;
const SEED = createHash("sha256").update("seed").digest("hex");
const ENTRIES = ["a", "b", "c", "d", "e", "f"].map((name) =>
  createHash("sha256").update(name).digest("hex").slice(0, 32),
);
const LATER = "0".repeat(32);

function drawnOrder(): string[] {
  const key = Buffer.from(SEED, "hex");
  const rankOf = (entry: string) => createHmac("sha256", key).update(entry).digest("hex");
  return ENTRIES.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1));
}

function visitor(entry: string, place: number, invitedAfterMs: number): VisitorRecord {
  const invitedMs = OPENS_MS + invitedAfterMs;
  return {
    entry,
    joinSentMs: OPENS_MS - 5_000,
    joinedMs: OPENS_MS - 4_990,
    place,
    invitedMs,
    untilMs: invitedMs + 600_000,
    isMissed: false,
    leaveSentMs: invitedMs + 2_500,
    leftMs: invitedMs + 2_510,
    bought: 2,
    lastPlace: place,
    taken: 2,
  };
}

/** Six drawn visitors and a later one, two invited a second; four are inside at most. */
function fairDoor() {
  const order = drawnOrder();
  const visitors = order.map((entry, i) => {
    return visitor(entry, i + 1, Math.floor(i / 2) * 1_000 + TICK_MS);
  });
  const later = { joinSentMs: OPENS_MS + 300, joinedMs: OPENS_MS + 310 };
  visitors.push({ ...visitor(LATER, 7, 3_000 + TICK_MS), ...later });
  const settings = {
    opensAt: new Date(OPENS_MS).toISOString().slice(0, -1),
    perMinute: 120,
    maxInside: 6 as number | null,
    claimSeconds: 120,
    seatsPerVisitor: 2,
    draw: true,
    paused: false,
    exemptHoldTypes: [],
    state: "before" as const,
    commitment: createHash("sha256").update(Buffer.from(SEED, "hex")).digest("hex"),
    joined: 0,
    invited: 0,
    inside: 0,
  };
  const last = { state: "open" as const, now: "", drawn: 6, serving: 7, seed: SEED, joined: 7 };
  return {
    settings,
    areSettingsKept: true as boolean,
    last,
    entries: [...ENTRIES],
    visitors,
    opened: { fromMs: OPENS_MS, toMs: OPENS_MS + 20 },
    scarceMs: Infinity,
    pollTimes: Array.from({ length: 100 }, (_, i) => OPENS_MS - 2_000 + 100 * i),
    inside: { most: 6, samples: 40 },
    probes: { tried: 3, granted: [] as string[] },
  } satisfies DoorData;
}

type Fair = ReturnType<typeof fairDoor>;

function failures(change: (data: Fair) => void, refusals = new Map<string, number>()) {
  const data = fairDoor();
  change(data);
  const failed = checkDoor(data, refusals).filter(({ passed }) => !passed);
  return Object.fromEntries(failed.map(({ name, detail }) => [name, detail]));
}

const [DRAW, ARRIVALS, PLACES, RATE, CAP, QUOTA, PROBES, TOKENS] = [
  "the draw is that of the seed and the entries",
  "later visitors stand behind, in order of arrival",
  "nobody's place has changed",
  "as many were invited as the rate allows",
  "never more inside than maxInside",
  "every visitor kept to seatsPerVisitor",
  "every lock without a right was refused",
  "every token let its visitor in",
] as const;

test("a fair door passes every check, and its seconds are counted", () => {
  const checks = checkDoor(fairDoor(), new Map([["EXPIRED", 3]]));
  expect(checks.map(({ name, passed, detail }) => [name, passed, detail])).toEqual([
    [DRAW, true, "6 drawn"],
    [ARRIVALS, true, "1"],
    [PLACES, true, ""],
    [RATE, true, "7 at 120 a minute, 2 seconds exactly"],
    [CAP, true, "6 at most in 40 samples"],
    [QUOTA, true, "2 at most"],
    [PROBES, true, "3 tried"],
    [TOKENS, true, ""],
  ]);
});

test("another seed, a changed list, or another order fails the check", () => {
  const promise = failures(({ settings }) => (settings.commitment = "0".repeat(64)));
  expect(promise).toEqual({ [DRAW]: "the seed is another than the promised one" });
  const list = failures(({ entries }) => entries.pop());
  expect(list[DRAW]).toMatch(/^5 entries in 5 lines for 6 drawn; \w+: place \d, not /);
  const twice = failures(({ entries }) => (entries[1] = entries[0]!));
  expect(twice[DRAW]).toMatch(/^5 entries in 6 lines for 6 drawn; /);
  const order = failures(({ visitors: [a, b] }) => {
    [a!.place, a!.lastPlace, b!.place, b!.lastPlace] = [2, 2, 1, 1];
  });
  expect(order[DRAW]).toMatch(/^\w+: place 2, not 1; \w+: place 1, not 2$/);
});

test("a visitor who joined in time and was not drawn fails the check", () => {
  const found = failures(({ visitors }) => (visitors[6]!.joinedMs = OPENS_MS - 4_990));
  expect(found).toEqual({ [DRAW]: `${LATER}: place 7, not drawn` });
});

test("a later visitor before an earlier one, or at a drawn place, fails the check", () => {
  const behind = (place: number, joinedMs: number) => (data: Fair) => {
    const more = { joinSentMs: joinedMs - 5, joinedMs };
    data.visitors.push({ ...visitor("1".repeat(32), place, 3_000 + TICK_MS), ...more });
    data.last.joined += 1;
  };
  expect(failures(behind(8, OPENS_MS + 320))).toEqual({});
  expect(failures(behind(8, OPENS_MS + 290))).toEqual({ [ARRIVALS]: "place 8 came earlier" });
  expect(failures(behind(7, OPENS_MS + 320))[ARRIVALS]).toBe("place 7 after 7");
  expect(failures(behind(6, OPENS_MS + 320))[ARRIVALS]).toBe(
    "place 6 after 6; place 7 came earlier",
  );
});

test("a place that changed fails the check", () => {
  expect(failures(({ visitors }) => (visitors[6]!.place = 8))).toEqual({ [PLACES]: "8 became 7" });
});

test("more invitations than the rate allows fail the check", () => {
  const early = failures(({ visitors }) => (visitors[2]!.invitedMs = OPENS_MS + TICK_MS));
  expect(early[RATE]).toMatch(/^3 in 1 s; 3 up to second 1/);
  // Within each pair of seconds as many as allowed, but counted from the opening one too many.
  const made = failures((data) => {
    for (const late of data.visitors) late.invitedMs! -= 900;
    data.scarceMs = 0;
  });
  expect(made[RATE]).toMatch(/4 up to second 1/);
});

test("too few invitations while somebody waits fail the check", () => {
  const few = failures(({ visitors }) => (visitors[3]!.invitedMs! += 1_000));
  expect(few[RATE]).toBe("3 in 1 s; 1 of 2 at 08:00:01.040");
  const pause = (data: Fair) => {
    for (const late of data.visitors.slice(2)) late.invitedMs! += 1_000;
  };
  expect(failures(pause)).toEqual({ [RATE]: "0 of 2 at 08:00:01.040" });
});

test("too few invitations for a reason pass the check", () => {
  const pause = (data: Fair) => {
    for (const late of data.visitors.slice(2)) late.invitedMs! += 1_000;
  };
  const passes = (reason: (data: Fair) => void) => {
    const found = failures((data) => {
      pause(data);
      reason(data);
    });
    expect(found).toEqual({});
  };
  passes((data) => (data.scarceMs = OPENS_MS + 1_000));
  passes(({ settings, visitors, inside }) => {
    settings.maxInside = inside.most = 2;
    for (const late of visitors) {
      late.leaveSentMs = late.invitedMs! + 1_050;
      late.leftMs = late.leaveSentMs + 10;
    }
  });
  passes((data) => data.pollTimes.splice(25, 10));
  passes((data) => (data.last.joined += 1));
  passes((data) => (data.visitors[6]!.isMissed = true));
  passes((data) => (data.areSettingsKept = false));
});

test("more inside than the cap, in a sample or by what visitors did, fails the check", () => {
  expect(failures(({ inside }) => (inside.most = 7))).toEqual({ [CAP]: "7 of 6" });
  const found = failures((data) => {
    data.settings.maxInside = 5;
    data.inside.most = 5;
  });
  expect(found[CAP]).toBe("6 of 5");
});

test("a door that counts other tickets than were bought, or more than the quota, fails the check", () => {
  const lost = failures(({ visitors }) => (visitors[0]!.taken = 1));
  expect(lost).toEqual({ [QUOTA]: "place 1: 1 taken, 2 bought" });
  const beyond = failures(({ visitors }) => {
    visitors[0]!.taken = 3;
    visitors[0]!.bought = 3;
  });
  expect(beyond).toEqual({ [QUOTA]: "place 1: 3 taken, 3 bought" });
});

test("a granted lock without a token, or a refused right one, fails the check", () => {
  const granted = failures(({ probes }) => probes.granted.push("without a token: 200"));
  expect(granted).toEqual({ [PROBES]: "without a token: 200" });
  expect(failures(() => {}, new Map([["SIGNATURE", 2]]))).toEqual({ [TOKENS]: "SIGNATURE × 2" });
});
