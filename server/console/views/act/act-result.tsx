/** What became of an action: the dry run, the answer, what was refused seat by seat, undo. */
import type { Acting, Action, Refused, Step } from "../../state/acting.ts";
import type { LiveEvent } from "../../state/live-event.ts";
import { TEXTS } from "../../texts.ts";
import { type ActProps, nameOfRefused } from "./seat-names.ts";

const SHOWN_MAX = 50;
const T = TEXTS.act;

export function ActResult({ event, acting }: ActProps) {
  const step = acting.step.value;
  if (step.kind === "idle") return null;
  return (
    <div class={`act-result act-${step.kind}`}>
      <Text step={step} />
      {step.kind === "refused" && <RefusedList event={event} refused={step.refused} />}
      <div class="act-answers">
        <Answers step={step} acting={acting} />
      </div>
    </div>
  );
}

function Text({ step }: { readonly step: Step }) {
  if (step.kind === "busy") return <p>{T.busy}</p>;
  if (step.kind === "checked") return <p>{T.checked(T.places(step.count))}</p>;
  if (step.kind === "undone") return <p>{T.undone[step.action](T.places(step.count))}</p>;
  if (step.kind === "done") {
    return (
      <p>
        <strong>{T.done[step.action](T.places(step.count))}</strong>{" "}
        {step.undo === null && <span class="note">{T.final[step.action]}</span>}
      </p>
    );
  }
  if (step.kind !== "refused") return null;
  const { refused, count, message, isDry } = step;
  return (
    <p>
      <strong>
        {refused.length === 0 ? message : T.refusedOf(String(refused.length), String(count))}
      </strong>{" "}
      <span class="note">{isDry ? T.dry : T.nothing}</span>
    </p>
  );
}

function RefusedList({
  event,
  refused,
}: {
  readonly event: LiveEvent;
  readonly refused: readonly Refused[];
}) {
  if (refused.length === 0) return null;
  return (
    <ul class="refused" tabIndex={0} aria-label={T.refusedOf(String(refused.length), "")}>
      {refused.slice(0, SHOWN_MAX).map((one, i) => (
        <li key={i}>
          <span>{nameOfRefused(event, one)}</span>
          <span class="reason">{one.reason}</span>
        </li>
      ))}
      {refused.length > SHOWN_MAX && <li class="note">{T.more(refused.length - SHOWN_MAX)}</li>}
    </ul>
  );
}

function Answers({ step, acting }: { readonly step: Step; readonly acting: Acting }) {
  const cancel = (label: string) => (
    <button type="button" onClick={() => acting.dismiss()}>
      {label}
    </button>
  );
  if (step.kind === "busy" || step.kind === "idle") return null;
  if (step.kind === "checked") {
    const { action, count } = step;
    return (
      <>
        {cancel(T.cancel)}
        <button type="button" class="primary" onClick={() => void acting.confirm(action)}>
          {T.confirm(T.actions[action], T.places(count))}
        </button>
      </>
    );
  }
  if (step.kind === "refused") {
    const { action, refused, count } = step;
    const isSome = refused.length > 0 && refused.length < count;
    return (
      <>
        {cancel(T.close)}
        {isSome && <LeaveOut acting={acting} action={action} refused={refused} />}
      </>
    );
  }
  return (
    <>
      {cancel(T.close)}
      {step.kind === "done" && step.undo !== null && (
        <button type="button" onClick={() => void acting.undo(step.action, step.undo!)}>
          {T.undo}
        </button>
      )}
    </>
  );
}

interface LeaveOutProps {
  readonly acting: Acting;
  readonly action: Action;
  readonly refused: readonly Refused[];
}

function LeaveOut({ acting, action, refused }: LeaveOutProps) {
  return (
    <button type="button" class="primary" onClick={() => void acting.leaveOut(action, refused)}>
      {T.leaveOut(refused.length)}
    </button>
  );
}
