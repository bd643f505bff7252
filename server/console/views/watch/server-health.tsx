/** Latency, log and refusals of the server: what its metrics show to everybody. */
import type { ServerFigures } from "../../state/watch/server-figures.ts";
import { TEXTS } from "../../texts.ts";
import { whole } from "./format.ts";

interface ServerHealthProps {
  /** Null before the second reading. */
  readonly figures: ServerFigures | null;
  readonly isShown: boolean;
}

export function ServerHealth({ figures, isShown }: ServerHealthProps) {
  return (
    <section class="server-health">
      <h2>
        {TEXTS.watch.server}
        {figures !== null && (
          <span class={figures.isWritable ? "good" : "bad"}>
            {figures.isWritable ? TEXTS.watch.writable : TEXTS.watch.notWritable}
          </span>
        )}
      </h2>
      {!isShown && <p class="note">{TEXTS.watch.serverHidden}</p>}
      {isShown && figures === null && <p class="note">{TEXTS.watch.serverWaits}</p>}
      {isShown && figures !== null && (
        <dl>
          {rowsOf(figures).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}

function rowsOf(figures: ServerFigures): readonly (readonly [string, string])[] {
  const { milliseconds, kilobytes, none } = TEXTS.watch;
  const duration = (ms: number | null) => (ms === null ? none : milliseconds(String(ms)));
  return [
    [TEXTS.watch.requestTime, duration(figures.requestMs)],
    [TEXTS.watch.syncTime, duration(figures.syncMs)],
    [TEXTS.watch.requests, figures.requestsPerSecond.toFixed(1)],
    [TEXTS.watch.refusals, whole(figures.refusalsPerMinute)],
    [TEXTS.watch.logGrowth, kilobytes((figures.logBytesPerSecond / 1_000).toFixed(1))],
  ];
}
