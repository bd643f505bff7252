/**
 * Packs the texts of the trail, which mostly are sessions: a UUID in its usual form takes 17 bytes
 * instead of 36. Other texts are UTF-8. No I/O.
 */

/** The first byte of a packed UUID, which never occurs in UTF-8. */
const IS_UUID = 0xff;
const UUID_CHARS = 36;
const UUID_BYTES = 17;
const DASH = 0x2d;
/** By character code: the value of a lower-case hexadecimal digit; 16 for other characters. */
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = "0123456789abcdef".indexOf(String.fromCharCode(code));
  return value < 0 ? 16 : value;
});

/** Equal texts, and only these, have equal bytes. */
export function packText(text: string): Uint8Array {
  return (text.length === UUID_CHARS ? packUuid(text) : null) ?? Buffer.from(text);
}

export function unpackText(bytes: Buffer): string {
  if (bytes[0] !== IS_UUID) return bytes.toString();
  const hex = bytes.toString("hex", 1);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${parts.join("-")}-${hex.slice(20)}`;
}

/** @returns null when it is something else. */
function packUuid(text: string): Uint8Array | null {
  const bytes = new Uint8Array(UUID_BYTES);
  bytes[0] = IS_UUID;
  let end = 1;
  for (let i = 0; i < UUID_CHARS; i += 2) {
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (text.charCodeAt(i) !== DASH) return null;
      i += 1;
    }
    const high = DIGITS[text.charCodeAt(i)] ?? 16;
    const low = DIGITS[text.charCodeAt(i + 1)] ?? 16;
    if (high > 15 || low > 15) return null;
    bytes[end++] = high * 16 + low;
  }
  return bytes;
}

/** A hash of 32 bits (FNV-1a). It is stored, so it never changes. */
export function hashBytes(bytes: Uint8Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash >>> 0;
}
