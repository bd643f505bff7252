/** The console: the login, or the page named by the address. */
import { useSignal } from "@preact/signals";
import {
  type ComponentChildren,
  options,
  render,
  type TargetedSubmitEvent,
  type VNode,
} from "preact";
import { useEffect } from "preact/hooks";
import { visible } from "../../../engine/names.ts";
import type { Api } from "../api/http.ts";
import { LiveEvent } from "../state/live-event.ts";
import {
  announcement,
  hasExpired,
  logInWithAccount,
  logInWithKey,
  place,
  session,
} from "../state/page.ts";
import { TEXTS } from "../texts.ts";
import { EventView } from "./event.tsx";
import { EventsView } from "./events.tsx";
import { SetupView } from "./new-event.tsx";
import { Switch, ThemeSwitch, TopBar } from "./parts.tsx";
import { PricesView } from "./prices.tsx";

const T = TEXTS.logIn;

/** Attributes that are read as text. */
const TEXT_ATTRIBUTES: ReadonlySet<string> = new Set(["title", "aria-label", "alt", "label"]);

/** No text of a client, such as the name of a session, disguises the text around it. */
function escapeTexts(node: VNode): void {
  if (typeof node.type !== "string") return;
  const props = node.props as Record<string, unknown>;
  for (const [name, value] of Object.entries(props)) {
    if (TEXT_ATTRIBUTES.has(name) && typeof value === "string") props[name] = visible(value);
  }
  props["children"] = shownChild(props["children"]);
}

function shownChild(child: unknown): unknown {
  if (Array.isArray(child)) return child.map(shownChild);
  return typeof child === "string" ? visible(child) : child;
}

const others = { ...options };
options.vnode = (node) => {
  escapeTexts(node);
  others.vnode?.(node);
};

function App() {
  return (
    <>
      <Shown />
      <div class="for-readers" role="status">
        {announcement.value}
      </div>
    </>
  );
}

function Shown() {
  if (session.value === null) return <LogIn />;
  const { api, organization } = session.value;
  const { value: to } = place;
  if (to.kind === "events") return <EventsView key={organization?.id} api={api} />;
  if (to.kind === "setup") return <SetupView key={organization?.id} api={api} />;
  return (
    <OpenEvent key={to.id} api={api} id={to.id}>
      {(event) =>
        to.kind === "prices" ? (
          <PricesView api={api} event={event} />
        ) : (
          <EventView api={api} event={event} />
        )
      }
    </OpenEvent>
  );
}

interface OpenEventProps {
  readonly api: Api;
  readonly id: string;
  readonly children: (event: LiveEvent) => ComponentChildren;
}

/** Reads an event and follows it while it is shown. */
function OpenEvent({ api, id, children }: OpenEventProps) {
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

/** With an account, or with the key of an organization. */
function LogIn() {
  const way = useSignal<keyof typeof T.by>("key");
  const error = useSignal("");
  const isOpening = useSignal(false);
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => (form.get(name) as string).trim();
    isOpening.value = true;
    error.value = "";
    try {
      if (way.value === "key") await logInWithKey(text("key"));
      else await logInWithAccount(text("email"), form.get("password") as string);
    } catch (problem) {
      error.value = (problem as Error).message;
      isOpening.value = false;
    }
  };
  return (
    <main class="log-in">
      <form onSubmit={(event) => void submit(event)}>
        <div class="log-in-head">
          <img src="/docs/icon.svg" alt="" width="34" height="34" />
          <strong>{TEXTS.product}</strong>
          <ThemeSwitch />
        </div>
        <h1>{T.title}</h1>
        <p class="note">{T.lead}</p>
        {hasExpired.value && <p class="warning">{T.expired}</p>}
        <Switch label={T.ways} names={T.by} chosen={way} />
        <Fields way={way.value} />
        <button type="submit" class="primary" disabled={isOpening.value}>
          {isOpening.value ? T.opening : T.submit}
        </button>
        <p role="alert">{error}</p>
        <p class="note">{T.note}</p>
      </form>
    </main>
  );
}

function Fields({ way }: { readonly way: keyof typeof T.by }) {
  if (way === "key") {
    return (
      <label key="key">
        {T.key}
        <input name="key" type="password" autocomplete="off" required />
      </label>
    );
  }
  return (
    <>
      <label key="email">
        {T.email}
        <input name="email" type="email" autocomplete="username" required />
      </label>
      <label key="password">
        {T.password}
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
    </>
  );
}

render(<App />, document.querySelector("#root")!);
