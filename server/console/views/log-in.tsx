/** The login with the key of an organization. */
import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { LiveEvent } from "../state/live-event.ts";
import { logIn } from "../state/session.ts";
import { TEXTS } from "../texts.ts";

export function LogIn({ onOpen }: { readonly onOpen: (event: LiveEvent) => void }) {
  const error = useSignal("");
  const isOpening = useSignal(false);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => (form.get(name) as string).trim();
    isOpening.value = true;
    error.value = "";
    try {
      onOpen(await LiveEvent.open(logIn(text("key")), text("event")));
    } catch (problem) {
      error.value = (problem as Error).message;
    } finally {
      isOpening.value = false;
    }
  };
  return (
    <main class="log-in">
      <form onSubmit={(event) => void submit(event)}>
        <h1>{TEXTS.logIn.title}</h1>
        <label>
          {TEXTS.logIn.key}
          <input name="key" type="password" autocomplete="off" required />
        </label>
        <label>
          {TEXTS.logIn.eventId}
          <input name="event" autocomplete="off" required />
        </label>
        <button type="submit" class="primary" disabled={isOpening.value}>
          {isOpening.value ? TEXTS.logIn.opening : TEXTS.logIn.submit}
        </button>
        <p role="alert">{error}</p>
        <p class="note">{TEXTS.logIn.note}</p>
      </form>
    </main>
  );
}
