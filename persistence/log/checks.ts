/** The valid values of fields in the log: asserted when encoding, required when decoding. */
import { MOVES, type Move } from "../../engine/inventory/states.ts";
import { ActorKind } from "../../engine/records.ts";

export function isU32(value: number): boolean {
  return value >>> 0 === value;
}

/** Whether it is a whole number that is not negative and exact as a double. */
export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

export function isActorKind(value: unknown): value is ActorKind {
  return isCount(value) && Number(value) <= ActorKind.ACCOUNT;
}

export function isMove(value: number): value is Move {
  return MOVES[value as Move] !== undefined;
}
