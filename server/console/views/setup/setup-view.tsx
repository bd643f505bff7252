/** Creates an event, with the venue and the seating plan that it needs. */
import { type Signal, useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { useEffect } from "preact/hooks";
import {
  createEvent,
  createSchema,
  createVenue,
  listSchemas,
  listVenues,
  type Named,
  putLayout,
} from "../../api/catalog.ts";
import type { Api } from "../../api/http.ts";
import { go } from "../../state/place.ts";
import { TEXTS } from "../../texts.ts";
import { TopBar } from "../top-bar.tsx";
import type { Draft } from "./draft.ts";
import { EventFields, PlanFields, VenueFields } from "./fields.tsx";
import type { LayoutFile } from "./layout-file.ts";

const T = TEXTS.setup;

export function SetupView({ api }: { readonly api: Api }) {
  const draft: Draft = {
    venues: useSignal<readonly Named[]>([]),
    plans: useSignal<readonly Named[]>([]),
    venueId: useSignal(0),
    planId: useSignal(0),
    layout: useSignal<LayoutFile | null>(null),
    error: useSignal(""),
  };
  const progress = useSignal("");
  const { venues, plans, venueId, planId, error } = draft;
  const show = (problem: Error) => (error.value = problem.message);
  useEffect(() => {
    listVenues(api).then((found) => (venues.value = found), show);
  }, [api]);
  useEffect(() => {
    plans.value = [];
    planId.value = 0;
    if (venueId.value > 0) {
      listSchemas(api, venueId.value).then((found) => (plans.value = found), show);
    }
  }, [venueId.value]);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    error.value = "";
    try {
      await create(api, draft, { form, progress });
    } catch (problem) {
      show(problem as Error);
    } finally {
      progress.value = "";
    }
  };
  return (
    <div class="sheet">
      <TopBar>
        <h1>{T.title}</h1>
      </TopBar>
      <main class="page">
        <form class="setup" onSubmit={(event) => void submit(event)}>
          <p class="note">{T.lead}</p>
          <VenueFields draft={draft} />
          <PlanFields draft={draft} />
          <EventFields />
          <p role="alert">{error}</p>
          <button type="submit" class="primary" disabled={progress.value !== ""}>
            {progress.value === "" ? T.submit : progress.value}
          </button>
        </form>
      </main>
    </div>
  );
}

interface Creating {
  readonly form: FormData;
  readonly progress: Signal<string>;
}

async function create(api: Api, draft: Draft, { form, progress }: Creating): Promise<void> {
  const { venueId, planId, layout } = draft;
  const text = (name: string) => ((form.get(name) ?? "") as string).trim();
  if (planId.value === 0 && layout.value === null) throw new Error(T.needsFile);
  let venue = venueId.value;
  if (venue === 0) {
    progress.value = T.creating.venue;
    const created = await createVenue(api, text("venueName"));
    draft.venues.value = [...draft.venues.value, created];
    venueId.value = venue = created.id;
  }
  let schemaId = planId.value;
  if (schemaId === 0) {
    progress.value = T.creating.plan;
    schemaId = (await createSchema(api, text("planName"), venue)).id;
    progress.value = T.creating.layout;
    await putLayout(api, schemaId, layout.value!.text);
    draft.plans.value = await listSchemas(api, venue);
    planId.value = schemaId;
  }
  progress.value = T.creating.event;
  const [start, endDate] = [text("start"), text("end")];
  const facts = { name: text("eventName"), start, endDate, schemaId, status: "DRAFT" } as const;
  const { id } = await createEvent(api, facts);
  go({ kind: "prices", id });
}
