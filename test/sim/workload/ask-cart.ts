/**
 * Random carts: calls on a few events, mostly on one. An item often takes up what one before it has
 * moved, as nothing else would find what an earlier item leaves.
 */
import type { CartItem } from "../../../engine/bodies.ts";
import type { State } from "../../../engine/state.ts";
import type { BookingRequest, CartStep, ModelEvent, Word } from "../model/facts.ts";
import type { Model } from "../model/model.ts";
import { type Asking, callerFor, drawBest, drawBooking, drawExtension } from "./ask-booking.ts";
import { anyOf, type Ask, commandOf, eventsOf, type House, type Scene } from "./ask.ts";

const NO_EVENT = "00000000-0000-4000-8000-00000000beef";
const ITEMS_MAX = 5;
const EVENTS_MAX = 5;
const TRIES_MAX = 5;
/** By call: those that its objects can take next. */
const AFTER: Readonly<Record<Word, readonly Word[]>> = {
  lock: ["unlock", "sale", "unlock"],
  unlock: ["lock", "directsale", "block"],
  sale: ["revertsale"],
  revertsale: ["lock", "block"],
  directsale: ["revertsale"],
  block: ["unblock", "lock"],
  unblock: ["lock", "directsale"],
};

/** @returns null without an event. */
export function askCart(scene: Scene, house: House): Ask | null {
  const { random, model } = scene;
  const all = eventsOf(model, house.caller.organizationId);
  if (all.length === 0) return null;
  const { caller, isForeign } = callerFor(scene, house, 60);
  const published = all.filter((id) => model.events.get(id)!.status === "PUBLISHED");
  const from = published.length === 0 || random.once(12) ? all : published;
  const events = Array.from({ length: 1 + random.below(EVENTS_MAX) }, () => random.pick(from));
  // Most items are possible ones, or few carts would be granted.
  const scratch = model.clone();
  const next = scene.state.sequence + 1;
  const steps: CartStep[] = [];
  const items: CartItem[] = [];
  let isUnknown = false;
  const count = 1 + random.below(ITEMS_MAX);
  while (steps.length < count) {
    const named = random.pick(events);
    const asked = random.once(150) ? NO_EVENT : named;
    isUnknown ||= asked === NO_EVENT;
    const asking = { caller, isForeign, asked };
    let { request, body } = drawItem(scene, steps, asking, named);
    for (let left = TRIES_MAX; !isPossible(scratch, request, next) && left > 0; left--) {
      ({ request, body } = drawItem(scene, steps, asking, named));
    }
    const present = scene.state.catalog.events.get(named);
    const sequence = present === undefined ? 1 : scene.state.sequenceOf(present);
    const ifSequence = random.once(8) ? sequence - (random.once(6) ? 1 : 0) : null;
    steps.push({ request, ifSequence });
    items.push({ ...body, eventId: asked, call: request.word, ifSequence });
  }
  // The session of the cart stands for those of items that are the same.
  const sessionId = random.once(2) ? (steps[0]!.request.sessionId ?? null) : null;
  for (const item of items) {
    if (sessionId !== null && item.sessionId === sessionId)
      delete (item as { sessionId?: unknown }).sessionId;
  }
  const { organizationId: organization } = caller;
  const isAnonymous = ({ request }: CartStep) => request.sessionId === null;
  if (sessionId !== null && steps.some(isAnonymous)) {
    for (const step of steps) if (isAnonymous(step)) step.request.sessionId = sessionId;
  }
  return {
    command: commandOf("cart", caller, { body: { sessionId, items } }),
    isForeign: isForeign || isUnknown,
    twin: (state) => {
      const find = sequencesOf(state, events);
      return {
        expect: (twin, nowMs, sequence) =>
          twin.cart({ organization, items: steps, sequences: find(nowMs) }, nowMs, sequence),
      };
    },
  };
}

/** Carries the item out on `scratch` when it is possible. No hold ends there. */
function isPossible(scratch: Model, request: CartStep["request"], sequence: number): boolean {
  return scratch.item(request, 0, sequence).answer === "true";
}

function drawItem(
  scene: Scene,
  steps: readonly CartStep[],
  asking: Asking,
  named: string,
): { request: CartStep["request"]; body: object } {
  const { random, model } = scene;
  const event = model.events.get(named)!;
  const before = anyOf(
    random,
    steps.filter(({ request }) => request.event === asking.asked),
  );
  if (random.once(10)) {
    const { request, body } = drawExtension(scene, event, asking);
    return { request: { ...request, word: "extend" }, body };
  }
  const { request, body } = random.once(5)
    ? bestItem(scene, event, asking)
    : drawBooking(scene, event, asking);
  const { request: earlier } = before ?? {};
  // Two of three follow an earlier item, or join its hold.
  if (earlier === undefined || earlier.word === "extend" || random.once(3))
    return { request, body };
  const first = steps
    .map((step) => step.request)
    .find((one) => one.event === asking.asked && isLock(one));
  if (isLock(request) && first !== undefined && isLock(first)) {
    const { sessionId, holdType } = first;
    return { request: { ...request, sessionId, holdType }, body: { ...body, sessionId, holdType } };
  }
  // The places of an earlier `best` are not known before it is decided.
  if (request.word === "best" || earlier.word === "best") return { request, body };
  const word = random.pick(AFTER[earlier.word]);
  return followed(earlier, word);
}

type BestItem = Extract<CartStep["request"], { word: "best" }>;

function bestItem(scene: Scene, event: ModelEvent, asking: Asking) {
  const { request, body } = drawBest(scene, event, asking);
  return { request: { ...request, word: "best" } satisfies BestItem, body };
}

function isLock(request: CartStep["request"]): request is BookingRequest | BestItem {
  return request.word === "lock" || request.word === "best";
}

/** The objects of an earlier item, without its guards. */
function followed(earlier: BookingRequest, word: Word): { request: BookingRequest; body: object } {
  const { seats, areas, sessionId, holdType, channel } = earlier;
  const plain = { fence: null, fromBlocked: false, toBlocked: false, all: false };
  const none = { fences: new Map<number, number>(), priceIds: new Map<number, number>() };
  const request = { ...earlier, ...plain, ...none, word };
  return { request, body: { sessionId, holdType, channel, seats, groupOfSeats: areas } };
}

/**
 * @param state - Before the request.
 * @returns Finds the last record of each event, given the time; NaN where a hold ends before it.
 */
function sequencesOf(state: State, events: readonly string[]) {
  const found = events.flatMap((id) => {
    const event = state.catalog.events.get(id);
    if (event === undefined) return [];
    const { holds } = state.partitionOf(event);
    const ends = holds.slots().map((slot) => holds.get(slot).expiresAtMs || Infinity);
    return [{ id, sequence: state.sequenceOf(event), endMs: Math.min(Infinity, ...ends) }];
  });
  return (nowMs: number) =>
    new Map(found.map(({ id, sequence, endMs }) => [id, endMs <= nowMs ? NaN : sequence]));
}
