/** Reads an event and follows it while it is shown. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Api } from "../api/http.ts";
import { LiveEvent } from "../state/live-event.ts";
import { TEXTS } from "../texts.ts";
import { TopBar } from "./top-bar.tsx";

interface OpenEventProps {
  readonly api: Api;
  readonly id: string;
  readonly children: (event: LiveEvent) => ComponentChildren;
}

export function OpenEvent({ api, id, children }: OpenEventProps) {
  const opened = useSignal<LiveEvent | null>(null);
  const error = useSignal("");
  useEffect(() => {
    let isOver = false;
    const take = (event: LiveEvent) => {
      if (isOver) event.close();
      else opened.value = event;
    };
    LiveEvent.open(api, id).then(take, (problem: Error) => (error.value = problem.message));
    return () => {
      isOver = true;
      opened.value?.close();
    };
  }, [api, id]);
  if (opened.value !== null) return <>{children(opened.value)}</>;
  return (
    <div class="sheet">
      <TopBar />
      <main class="page">
        {error.value === "" ? <p class="note">{TEXTS.events.loading}</p> : null}
        <p role="alert">{error.value}</p>
      </main>
    </div>
  );
}
