/** The column of channels: the slot of the channel of each seat in four bits, the lower ones first. */

export function emptyChannels(seatCount: number): Uint8Array {
  return new Uint8Array((seatCount + 1) >> 1);
}

/** The slot of the seat's channel; 0 for none. */
export function channelIn(channels: Uint8Array, seat: number): number {
  return (channels[seat >> 1]! >> ((seat & 1) << 2)) & 0xf;
}

export function putChannel(channels: Uint8Array, seat: number, slot: number): void {
  const shift = (seat & 1) << 2;
  channels[seat >> 1] = (channels[seat >> 1]! & ~(0xf << shift)) | (slot << shift);
}

/**
 * True for a seat of another channel than the call's.
 *
 * @param channel - The slot of the call's channel; 0 for none.
 */
export function isKeptFrom(channels: Uint8Array, seat: number, channel: number): boolean {
  const own = channelIn(channels, seat);
  return own !== 0 && own !== channel;
}
