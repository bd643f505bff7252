/** The console: the login, or what the address names. */
import { announcement } from "../state/announce.ts";
import { place } from "../state/place.ts";
import { session } from "../state/session.ts";
import { EventsView } from "./events/events-view.tsx";
import { EventView } from "./event-view.tsx";
import { LogIn } from "./log-in.tsx";
import { OpenEvent } from "./open-event.tsx";
import { PricesView } from "./setup/prices-view.tsx";
import { SetupView } from "./setup/setup-view.tsx";

export function App() {
  return (
    <>
      <Shown />
      <div class="unseen" role="status">
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
