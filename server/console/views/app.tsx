/** The console: the login, or an event. */
import { useSignal } from "@preact/signals";
import { LiveEvent } from "../state/live-event.ts";
import { EventView } from "./event-view.tsx";
import { LogIn } from "./log-in.tsx";

export function App() {
  const event = useSignal<LiveEvent | null>(null);
  if (event.value !== null) return <EventView event={event.value} />;
  return <LogIn onOpen={(opened) => (event.value = opened)} />;
}
