/** Booking calls, and their dry run. */
import type { Api } from "./http.ts";

export type BookingCall = "lock" | "unlock" | "sale" | "directsale" | "block" | "unblock";

export interface Selected {
  readonly sessionId?: string;
  readonly holdType?: string;
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: readonly { readonly id: number; readonly capacity: number }[];
}

/** @returns False for a direct sale of something that is not free. @throws ApiError */
export const book = (api: Api, eventId: string, call: BookingCall, body: Selected) =>
  api.call<boolean>(`/booking/${call}`, { method: "POST", query: { eventId }, body });

/** Asks what the call would answer; nothing changes. @throws ApiError */
export const checkBooking = (api: Api, eventId: string, call: BookingCall, body: Selected) =>
  api.call<boolean>("/booking/check", { method: "POST", query: { eventId, call }, body });
