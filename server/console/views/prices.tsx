/** The page of prices: sections and areas take a price by clicks, then the event is published. */
import type { TargetedSubmitEvent } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Api } from "../api/http.ts";
import { SeatState, type Totals } from "../map/seats.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { hashOf } from "../state/page.ts";
import { type Answer, Pricing, type Question } from "../state/pricing.ts";
import { TEXTS } from "../texts.ts";
import { MapView } from "./map-view.tsx";
import { ConnectionMark, hueOf, TopBar } from "./parts.tsx";

const T = TEXTS.prices;

interface PricesViewProps {
  readonly api: Api;
  readonly event: LiveEvent;
}

export function PricesView({ api, event }: PricesViewProps) {
  const pricing = useMemo(() => new Pricing(api, event), [event]);
  const { id, name } = event.facts;
  useUndoKeys(pricing);
  return (
    <div class="event">
      <TopBar>
        <h1>{name}</h1>
        <ConnectionMark event={event} />
        <a class="quiet" href={hashOf({ kind: "event", id })}>
          {T.open}
        </a>
      </TopBar>
      <MapView
        event={event}
        colorBy="price"
        onPick={(hit) => void (hit === null ? null : pricing.paint(hit))}
      >
        <div class="map-foot">
          <p role="alert">{pricing.error}</p>
          <Result pricing={pricing} />
        </div>
      </MapView>
      <aside class="panel prices">
        <h2>{T.title}</h2>
        <p class="note">{T.lead}</p>
        <PriceChoice event={event} pricing={pricing} />
        <Status event={event} pricing={pricing} />
        <Groups event={event} pricing={pricing} sequence={event.sequence.value} />
      </aside>
      {pricing.question.value !== null && (
        <Ask pricing={pricing} question={pricing.question.value} totals={event.totals.value} />
      )}
    </div>
  );
}

/** Control+Z, but not in a field, which has an undo of its own. */
function useUndoKeys(pricing: Pricing): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const isUndo = event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey;
      const isField = event.target instanceof HTMLInputElement && event.target.type !== "radio";
      if (!isUndo || isField || pricing.question.peek() !== null) return;
      event.preventDefault();
      void pricing.undo();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [pricing]);
}

/** The last change, and its undo. */
function Result({ pricing }: Pick<PricingProps, "pricing">) {
  const close = useRef<HTMLButtonElement>(null);
  const outcome = pricing.outcome.value;
  if (outcome === null) return null;
  const undo = () => {
    // The button goes away with the undo, and must not take the focus along.
    close.current!.focus();
    void pricing.undo();
  };
  return (
    <div class="act-result">
      <p>{outcome.text}</p>
      <div class="act-answers">
        <button type="button" ref={close} onClick={() => pricing.dismiss()}>
          {T.close}
        </button>
        {outcome.undo !== null && (
          <button type="button" class="primary" aria-keyshortcuts="Control+Z" onClick={undo}>
            {T.undo}
          </button>
        )}
      </div>
    </div>
  );
}

interface AskProps extends Pick<PricingProps, "pricing"> {
  readonly question: Question;
  /** The counts follow the event. */
  readonly totals: Totals;
}

/** States of taken places, the most final first. */
const TAKEN = [
  [SeatState.SOLD, T.question.sold],
  [SeatState.HELD, T.question.held],
  [SeatState.BLOCKED, T.question.blocked],
] as const;

/** Asks before places that somebody has get another price. */
function Ask({ pricing, question }: AskProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current!.showModal(), []);
  const { free, counts } = pricing.planOf(question);
  const { target, price } = question;
  const isArea = target.areas.length > 0;
  const taken = TAKEN.filter(([state]) => counts[state]! > 0);
  const title = T.question.title(
    taken.map(([state, name]) => [counts[state]!, name]),
    isArea ? T.question.place : T.question.seat,
  );
  const button = (answer: Answer, text: string) => (
    <button
      type="button"
      class={answer === "keep" ? "primary" : ""}
      autofocus={answer === "keep"}
      // The second click of a double click on the map is not an answer.
      onClick={({ detail }) => detail < 2 && dialog.current!.close(answer)}
    >
      {text}
    </button>
  );
  return (
    <dialog
      ref={dialog}
      class="ask"
      aria-labelledby="ask-title"
      aria-describedby="ask-text"
      onClose={() => void pricing.answer(dialog.current!.returnValue as Answer)}
    >
      <h2 id="ask-title">{title}</h2>
      <div id="ask-text">
        <p>
          {isArea
            ? T.question.area(price.name, target.name)
            : T.question.free(price.name, target.name, free.seats.length)}
        </p>
        <p class="note">{T.question.effect}</p>
      </div>
      <div class="ask-answers">
        {button("", T.question.cancel)}
        {button("all", T.question.all)}
        {button("keep", T.question.keep)}
      </div>
    </dialog>
  );
}

function Status({ event, pricing }: PricingProps) {
  if (event.status.value !== "DRAFT") return null;
  return (
    <div class="draft">
      <p>{T.draft}</p>
      <button type="button" class="primary" onClick={() => void pricing.publish()}>
        {T.publish}
      </button>
    </div>
  );
}

/** Sections and areas as buttons, each with its present price. */
function Groups({ event, pricing }: PricingProps & { readonly sequence: number }) {
  const { sections, areas } = event.geometry;
  return (
    <>
      <h2>{T.sections}</h2>
      <button type="button" onClick={() => void pricing.paintRest()}>
        {T.rest}
      </button>
      <ul class="price-groups">
        {areas.map(({ id, name }, area) => (
          <li key={id} class="price-area">
            <GroupButton
              name={name}
              price={pricing.nameOfArea(id)}
              onClick={() => void pricing.paint({ kind: "area", area })}
            />
            <input
              type="number"
              min="0"
              aria-label={T.places(name)}
              value={pricing.placesOf(area)}
              onChange={({ currentTarget }) => void resize(pricing, area, currentTarget)}
            />
          </li>
        ))}
        {sections.map(({ id, name }, section) => (
          <li key={id}>
            <GroupButton
              name={name}
              price={pricing.nameOfSection(section)}
              onClick={() => void pricing.paint({ kind: "section", section })}
            />
          </li>
        ))}
      </ul>
    </>
  );
}

/** A refused count does not stay in the field. */
async function resize(pricing: Pricing, area: number, input: HTMLInputElement): Promise<void> {
  if (Number.isSafeInteger(input.valueAsNumber)) await pricing.resize(area, input.valueAsNumber);
  input.value = String(pricing.placesOf(area));
}

interface GroupButtonProps {
  readonly name: string;
  readonly price: string;
  readonly onClick: () => void;
}

function GroupButton({ name, price, onClick }: GroupButtonProps) {
  return (
    <button type="button" class="list-section" onClick={onClick}>
      <span>{name}</span>
      <span class="note">{price}</span>
    </button>
  );
}

interface PricingProps {
  readonly event: LiveEvent;
  readonly pricing: Pricing;
}

/** One price is chosen for the next click; others can be added. */
function PriceChoice({ event, pricing }: PricingProps) {
  const add = (submitted: TargetedSubmitEvent<HTMLFormElement>) => {
    submitted.preventDefault();
    const form = submitted.currentTarget;
    void pricing.addPrice((new FormData(form).get("price") as string).trim());
    form.reset();
  };
  return (
    <>
      {event.prices.value.length > 0 && (
        <fieldset>
          <legend>{T.price}</legend>
          {event.prices.value.map((price) => (
            <label key={price.id} class="brush">
              <input
                type="radio"
                name="brush"
                checked={pricing.brush.value === price.id}
                onChange={() => pricing.choose(price.id)}
              />
              <i class="hue" style={hueOf(event, price.id)} />
              {price.name}
            </label>
          ))}
        </fieldset>
      )}
      <form class="add-price" onSubmit={add}>
        <label>
          {T.add}
          <input name="price" maxLength={255} placeholder={T.name} required />
        </label>
        <button type="submit">{T.submit}</button>
      </form>
    </>
  );
}
