/** The login: with an account, or with the key of an organization. */
import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { hasExpired, logInWithAccount, logInWithKey } from "../state/session.ts";
import { TEXTS } from "../texts.ts";
import { ThemeSwitch } from "./top-bar.tsx";

export function LogIn() {
  const way = useSignal<"account" | "key">("account");
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
  const choice = (value: "account" | "key", label: string) => (
    <button type="button" aria-pressed={way.value === value} onClick={() => (way.value = value)}>
      {label}
    </button>
  );
  return (
    <main class="log-in">
      <form onSubmit={(event) => void submit(event)}>
        <div class="log-in-head">
          <img src="/docs/icon.svg" alt="" width="34" height="34" />
          <strong>{TEXTS.product}</strong>
          <ThemeSwitch />
        </div>
        <h1>{TEXTS.logIn.title}</h1>
        <p class="note">{TEXTS.logIn.lead}</p>
        {hasExpired.value && <p class="warning">{TEXTS.logIn.expired}</p>}
        <div class="switch" role="group" aria-label={TEXTS.logIn.ways}>
          {choice("account", TEXTS.logIn.withAccount)}
          {choice("key", TEXTS.logIn.withKey)}
        </div>
        <Fields way={way.value} />
        <button type="submit" class="primary" disabled={isOpening.value}>
          {isOpening.value ? TEXTS.logIn.opening : TEXTS.logIn.submit}
        </button>
        <p role="alert">{error}</p>
        <p class="note">{TEXTS.logIn.note}</p>
      </form>
    </main>
  );
}

function Fields({ way }: { readonly way: "account" | "key" }) {
  if (way === "key") {
    return (
      <label key="key">
        {TEXTS.logIn.key}
        <input name="key" type="password" autocomplete="off" required />
      </label>
    );
  }
  return (
    <>
      <label key="email">
        {TEXTS.logIn.email}
        <input name="email" type="email" autocomplete="username" required />
      </label>
      <label key="password">
        {TEXTS.logIn.password}
        <input name="password" type="password" autocomplete="current-password" required />
      </label>
    </>
  );
}
