/** Text for people: colours, and numbers with thousands separators. */
import { styleText } from "node:util";

type Style = "bold" | "cyan" | "green" | "red" | "yellow";

/** Adds a colour to the text, or returns the text unchanged. */
export type Paint = (style: Style, text: string) => string;

/** No colours if the stream is not a terminal, or if NO_COLOR is set (https://no-color.org). */
export function paintFor(stream: NodeJS.WriteStream): Paint {
  const hasColors = stream.isTTY && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
  return (style, text) => (hasColors ? styleText(style, text, { validateStream: false }) : text);
}

export function formatCount(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** `1 seat`, `2,000 seats`. */
export function formatCountOf(value: number, noun: string): string {
  return `${formatCount(value)} ${noun}${value === 1 ? "" : "s"}`;
}
