/** The fields of a new event. */
import type { Signal } from "@preact/signals";
import type { Named } from "../../api/catalog.ts";
import { TEXTS } from "../../texts.ts";
import type { Draft } from "./draft.ts";
import { readLayoutFile } from "./layout-file.ts";

const T = TEXTS.setup;

export function VenueFields({ draft: { venues, venueId } }: { readonly draft: Draft }) {
  return (
    <fieldset>
      <legend>{T.venue}</legend>
      <Choice label={T.venue} none={T.newVenue} rows={venues} chosen={venueId} />
      {venueId.value === 0 && <Text name="venueName" label={T.venueName} />}
    </fieldset>
  );
}

export function PlanFields({ draft }: { readonly draft: Draft }) {
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
  const count = (value: number) => value.toLocaleString("en");
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
              {T.content(count(read.seats), count(read.sections), count(read.areas))}
            </p>
          )}
        </>
      )}
    </fieldset>
  );
}

export function EventFields() {
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
