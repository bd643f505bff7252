/** The page of a new event, its venue and its seating plan. */
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
} from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import { go } from "../state/page.ts";
import { TEXTS, whole } from "../texts.ts";
import { TopBar } from "./parts.tsx";

const T = TEXTS.setup;
const GZIP_MAGIC = [0x1f, 0x8b];

/** Choices so far, and rows created by a failed attempt, so that a second one reuses them. */
interface Draft {
  readonly venues: Signal<readonly Named[]>;
  readonly plans: Signal<readonly Named[]>;
  /** 0 for a new one. */
  readonly venueId: Signal<number>;
  readonly planId: Signal<number>;
  readonly layout: Signal<LayoutFile | null>;
  readonly error: Signal<string>;
}

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

function VenueFields({ draft: { venues, venueId } }: { readonly draft: Draft }) {
  return (
    <fieldset>
      <legend>{T.venue}</legend>
      <Choice label={T.venue} none={T.newVenue} rows={venues} chosen={venueId} />
      {venueId.value === 0 && <Text name="venueName" label={T.venueName} />}
    </fieldset>
  );
}

function PlanFields({ draft }: { readonly draft: Draft }) {
  const { plans, planId, layout, error } = draft;
  const take = async (file: File | undefined) => {
    layout.value = null;
    error.value = "";
    try {
      if (file !== undefined) layout.value = await readLayoutFile(file);
    } catch (problem) {
      error.value = (problem as Error).message;
    }
  };
  const read = layout.value;
  return (
    <fieldset>
      <legend>{T.plan}</legend>
      <Choice label={T.plan} none={T.newPlan} rows={plans} chosen={planId} />
      {planId.value === 0 && (
        <>
          <Text name="planName" label={T.planName} />
          <label>
            {T.file}
            <input
              type="file"
              accept=".json,.gz"
              onChange={({ currentTarget: { files } }) => void take(files?.[0])}
            />
          </label>
          {read !== null && (
            <p class="read">
              {T.content(whole(read.seats), whole(read.sections), whole(read.areas))}
            </p>
          )}
        </>
      )}
    </fieldset>
  );
}

function EventFields() {
  return (
    <fieldset>
      <legend>{T.event}</legend>
      <Text name="eventName" label={T.eventName} />
      <div class="pair">
        <Moment name="start" label={T.start} />
        <Moment name="end" label={T.end} />
      </div>
    </fieldset>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly none: string;
  readonly rows: Signal<readonly Named[]>;
  readonly chosen: Signal<number>;
}

function Choice({ label, none, rows, chosen }: ChoiceProps) {
  return (
    <select
      aria-label={label}
      value={chosen.value}
      onChange={({ currentTarget: { value } }) => (chosen.value = Number(value))}
    >
      <option value={0}>{none}</option>
      {rows.value.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface FieldProps {
  readonly name: string;
  readonly label: string;
}

function Text({ name, label }: FieldProps) {
  return (
    <label>
      {label}
      <input name={name} maxLength={255} required />
    </label>
  );
}

function Moment({ name, label }: FieldProps) {
  return (
    <label>
      {label}
      <input name={name} type="datetime-local" required />
    </label>
  );
}

interface LayoutFile {
  /** JSON, as the server takes it. */
  readonly text: string;
  readonly seats: number;
  readonly sections: number;
  readonly areas: number;
}

/** @throws Error with a text for people when it is no layout. */
async function readLayoutFile(file: File): Promise<LayoutFile> {
  const text = await textOf(file);
  const layout = parse(text);
  const { sectors, rows, seats } = layout;
  if (!Array.isArray(sectors) || !Array.isArray(rows) || !Array.isArray(seats)) {
    throw new Error(T.noLayout);
  }
  const areas = sectors.filter((sector: { ga?: boolean }) => sector.ga === true).length;
  return { text, seats: seats.length, sections: sectors.length - areas, areas };
}

async function textOf(file: File): Promise<string> {
  const start = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isCompressed = GZIP_MAGIC.every((byte, i) => start[i] === byte);
  if (!isCompressed) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    throw new Error(T.unreadable);
  }
}
