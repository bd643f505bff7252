/** The panel beside the map. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { type Hold, timeMs } from "../api/calls.ts";
import type { Api } from "../api/http.ts";
import { placesOf, SeatState } from "../map/seats.ts";
import { endingHolds, type Happening, type Kind, type ServerFigures } from "../state/figures.ts";
import type { LiveEvent } from "../state/live-event.ts";
import { theme } from "../state/page.ts";
import type { Past } from "../state/past.ts";
import { Watch } from "../state/watch.ts";
import { TEXTS, whole } from "../texts.ts";
import { hueOf, Mark } from "./parts.tsx";
import { clockTime, countdown, groupName } from "./words.ts";

const T = TEXTS.watch;
const ORDER = [
  SeatState.SOLD,
  SeatState.HELD,
  SeatState.FREE,
  SeatState.BLOCKED,
  SeatState.UNPRICED,
];
const CHART_HEIGHT = 150;
const AXIS_WIDTH = 46;
/** Of a time at the axis, less the padding. */
const TIME_WIDTH = 40;
/** Seconds between two times at the axis. */
const STEPS = [5, 10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600];
/** The chart is at least and at most so many seconds wide. */
const SECONDS_MIN = 30;
const SECONDS_MAX = 7_200;
const TABLE_ROWS = 5;
const KINDS: readonly Kind[] = ["sold", "held", "released", "expired"];
const BAR = { pitch: 5, width: 4, height: 28 };
const HOLDS_SHOWN = 5;
const SOON_SECONDS = 15;
/** State of seats after a call. */
const STATE_AFTER: Readonly<Record<string, number>> = {
  lock: SeatState.HELD,
  best: SeatState.HELD,
  extend: SeatState.HELD,
  sale: SeatState.SOLD,
  directsale: SeatState.SOLD,
  unlock: SeatState.FREE,
  expire: SeatState.FREE,
  revertsale: SeatState.FREE,
  unblock: SeatState.FREE,
  block: SeatState.BLOCKED,
};
const FILTERED_CALLS = [
  "lock",
  "sale",
  "directsale",
  "unlock",
  "expire",
  "revertsale",
  "block",
  "unblock",
];

interface WatchPanelProps extends FadeProps {
  readonly api: Api;
  readonly event: LiveEvent;
  readonly past: Past;
  /** The first part of the panel. */
  readonly children: ComponentChildren;
}

/** Each part reads its own signals, so a change draws only the parts concerned. */
export function WatchPanel({ api, children, ...props }: WatchPanelProps) {
  const { event, past } = props;
  const watch = useMemo(() => new Watch(api, event, past), [api, past]);
  useEffect(() => watch.start(), [watch]);
  return (
    <div class="watch">
      {children}
      <SoldShare {...props} />
      <OverTime watch={watch} />
      <Now past={past}>
        <SaleRates watch={watch} />
        <ByPrice event={event} watch={watch} />
        <EndingHolds event={event} watch={watch} />
      </Now>
      <HappeningList event={event} watch={watch} past={past} />
      <Now past={past}>
        <ServerHealth watch={watch} />
      </Now>
    </div>
  );
}

/** Parts without figures of an earlier moment. */
function Now({ past, children }: { readonly past: Past; readonly children: ComponentChildren }) {
  return past.isNow.value && <>{children}</>;
}

interface WatchProps {
  readonly watch: Watch;
}

interface EventProps extends WatchProps {
  readonly event: LiveEvent;
}

interface FadeProps {
  /** States faded on the map. */
  readonly faded: ReadonlySet<number>;
  readonly onFade: (faded: ReadonlySet<number>) => void;
}

interface SoldShareProps extends FadeProps {
  readonly event: LiveEvent;
  readonly past: Past;
}

/** The sold share: a large figure, a bar, and the legend, a filter of the map. */
function SoldShare({ event, past, faded, onFade }: SoldShareProps) {
  const totals = past.isNow.value ? event.totals.value : past.totals.value;
  const count = (state: number) => totals[state] ?? 0;
  const all = ORDER.reduce((sum, state) => sum + count(state), 0);
  const share = all === 0 ? 0 : (100 * count(SeatState.SOLD)) / all;
  // 100.0 only when everything is sold.
  const percent = (Math.floor(share * 10) / 10).toFixed(1);
  const toggle = (state: number) => {
    const next = new Set(faded);
    if (!next.delete(state)) next.add(state);
    onFade(next);
  };
  return (
    <section class="share" aria-label={T.share(percent)}>
      <p class="share-figure">
        <b>
          {percent}
          <small>%</small>
        </b>
        <span>
          {TEXTS.sold}
          <strong>{TEXTS.of(whole(count(SeatState.SOLD)), whole(all))}</strong>
        </span>
      </p>
      <div class="share-bar" aria-hidden="true">
        {ORDER.map((state) => (
          <i key={state} class={`state-${state}`} style={{ flexGrow: count(state) }} />
        ))}
      </div>
      <div class="share-legend" role="group" aria-label={T.legend}>
        {ORDER.map((state) => (
          <button
            key={state}
            type="button"
            aria-pressed={!faded.has(state)}
            onClick={() => toggle(state)}
          >
            <Mark state={state} />
            <span>{TEXTS.states[state]}</span>
            <b>{whole(count(state))}</b>
          </button>
        ))}
      </div>
    </section>
  );
}

/** Sold, held and free over time: a stacked chart, and the same as a table for screen readers. */
function OverTime({ watch }: WatchProps) {
  const columns = watch.overTime.value;
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    const made = createChart(element.current!);
    chart.current = made;
    const resizes = new ResizeObserver(([entry]) =>
      made.setSize({ width: Math.floor(entry!.contentRect.width), height: CHART_HEIGHT }),
    );
    resizes.observe(element.current!);
    return () => {
      resizes.disconnect();
      made.destroy();
    };
  }, []);
  // The chart takes its colours from the style sheet when it is drawn.
  useEffect(() => chart.current?.setData(stacked(columns)), [columns, theme.value]);
  return (
    <section>
      <h2>{T.overTime}</h2>
      <div ref={element} class="chart" aria-hidden="true" />
      <AsTable columns={columns} />
    </section>
  );
}

/** A few moments of the chart, for who cannot see it. */
function AsTable({ columns }: { readonly columns: readonly number[][] }) {
  const [times, sold, held, free] = columns as [number[], number[], number[], number[]];
  const last = times.length - 1;
  if (last < 0) return null;
  const rows = Array.from({ length: TABLE_ROWS }, (_, i) =>
    Math.round((last * i) / (TABLE_ROWS - 1)),
  );
  const clock = (row: number) => clockTime(times[row]! * 1_000);
  return (
    <table class="for-readers">
      <caption>{T.overTimeIs(clock(0), clock(last))}</caption>
      <thead>
        <tr>
          {[T.time, TEXTS.states[4], TEXTS.states[3], TEXTS.states[2]].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...new Set(rows)].map((row) => (
          <tr key={row}>
            <th scope="row">{clock(row)}</th>
            {[sold, held, free].map((counts, i) => (
              <td key={i}>{whole(counts[row]!)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Each series above the one before; the highest is painted first. */
function stacked([times = [], sold = [], held = [], free = []]: readonly number[][]) {
  const heldTop = sold.map((value, i) => value + held[i]!);
  const freeTop = heldTop.map((value, i) => value + free[i]!);
  return [times, freeTop, heldTop, sold] as uPlot.AlignedData;
}

function createChart(element: HTMLElement): uPlot {
  const color = (name: string) => () => getComputedStyle(element).getPropertyValue(name).trim();
  // A figure holds until the next change.
  const paths = uPlot.paths.stepped!({ align: 1 });
  const area = (name: string) => ({ fill: color(name), stroke: color(name), width: 1, paths });
  const points = { show: false };
  const axis = {
    stroke: color("--text-2"),
    font: "11px system-ui, sans-serif",
    ticks: { show: false },
    gap: 6,
  };
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: CHART_HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { range: (_, first, last) => rangeOf(first, last) },
      y: { range: (_, __, to) => [0, Math.max(1, to)] },
    },
    series: [
      {},
      { ...area("--map-free"), points },
      { ...area("--map-held"), points },
      { ...area("--map-sold"), points },
    ],
    axes: [
      {
        ...axis,
        size: 24,
        space: 60,
        incrs: STEPS,
        grid: { show: false },
        values: timesThatFit,
      },
      {
        ...axis,
        size: AXIS_WIDTH,
        space: 28,
        grid: { stroke: color("--line"), width: 1 },
        values: (_, counts) => counts.map(short),
      },
    ],
  };
  return new uPlot(options, [[], [], [], []], element);
}

/** Leaves out a time cut by the edge. */
function timesThatFit(chart: uPlot, seconds: readonly number[]): (string | null)[] {
  const right = chart.bbox.width / devicePixelRatio - TIME_WIDTH / 2;
  return seconds.map((one) => (chart.valToPos(one, "x") > right ? null : clockTime(one * 1_000)));
}

function rangeOf(first: number, last: number): [number, number] {
  const from = Math.max(first, last - SECONDS_MAX);
  return [from, Math.max(last, from + SECONDS_MIN)];
}

/** Such as `500`, `1.5k`, `20k`. */
function short(count: number): string {
  return count < 1_000 ? String(count) : `${Math.round(count / 100) / 10}k`;
}

function SaleRates({ watch }: WatchProps) {
  const { perMinute, sold } = watch.rates.value;
  const most = Math.max(1, ...sold);
  const bars = sold.map((count, i) => {
    const height = Math.max(count === 0 ? 1 : 3, (BAR.height * count) / most);
    return `M${i * BAR.pitch} ${BAR.height}v${-height}h${BAR.width}v${height}z`;
  });
  return (
    <section class="rates">
      <h2>{T.rates}</h2>
      <dl>
        {KINDS.map((kind) => (
          <div key={kind}>
            <dt>{T[kind]}</dt>
            <dd>{whole(perMinute[kind])}</dd>
          </div>
        ))}
      </dl>
      <svg
        viewBox={`0 0 ${60 * BAR.pitch} ${BAR.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={T.soldBySecond(whole(perMinute.sold))}
      >
        <path d={bars.join("")} />
      </svg>
    </section>
  );
}

function ByPrice({ event, watch }: EventProps) {
  const shown = watch.byPrice.value.filter((price) => placesOf(price) > 0);
  return (
    <section class="by-price">
      <h2>{T.byPrice}</h2>
      {shown.length === 0 && <p class="note">{T.noPrices}</p>}
      <ul>
        {shown.map((price) => {
          const share = (100 * price.sold) / placesOf(price);
          const percent = `${Math.floor(share)} %`;
          return (
            <li key={price.priceId} style={hueOf(event, price.priceId)}>
              <i class="hue" />
              <span class="name">{price.priceName}</span>
              <span class="meter">
                <i style={{ width: `${share}%` }} />
              </span>
              <b>{percent}</b>
              <span class="left">{T.left(whole(price.active))}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function EndingHolds({ event, watch }: EventProps) {
  const ending = endingHolds(watch.holds.value, watch.nowMs.value, HOLDS_SHOWN);
  const holdCount = watch.holdCount.value;
  return (
    <section class="ending-holds">
      <h2>
        {T.endingHolds}
        {holdCount > 0 && <span>{T.holdCount(whole(holdCount))}</span>}
      </h2>
      {ending.length === 0 && <p class="note">{T.noHolds}</p>}
      <ul>
        {ending.map(({ hold, secondsLeft, shareLeft }) => (
          <li key={hold.fence} class={secondsLeft <= SOON_SECONDS ? "soon" : ""}>
            <span class="name">{groupName(event, seatsOf(event, hold))}</span>
            <code>{hold.sessionId}</code>
            <b>{countdown(secondsLeft)}</b>
            <i class="rest" style={{ transform: `scaleX(${shareLeft})` }} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function seatsOf(event: LiveEvent, { seats, areas }: Hold) {
  const places = areas.flatMap(({ groupOfSeatsId, capacity }) => {
    const area = event.areaOf(groupOfSeatsId);
    return area === undefined ? [] : [{ area, places: capacity }];
  });
  return { seats, seatCount: seats.length, areas: places };
}

interface HappeningsProps extends EventProps {
  readonly past: Past;
}

/** A rolling list of changes; it stands still under pointer or focus. */
function HappeningList({ event, watch, past }: HappeningsProps) {
  const filter = useSignal({ call: "", session: "" });
  const still = useSignal<readonly Happening[] | null>(null);
  const change = (part: Partial<typeof filter.value>) => {
    filter.value = { ...filter.value, ...part };
    watch.filter = filter.value;
  };
  const isNow = past.isNow.value;
  const present = still.value ?? watch.happenings.value;
  const rows = isNow ? present : past.happenings.value;
  const isFiltered = filter.value.call !== "" || filter.value.session !== "";
  const hold = () => (still.value ??= watch.happenings.value);
  const release = () => (still.value = null);
  return (
    <section class="happenings">
      <h2>
        {T.happenings}
        {still.value !== null && <span>{T.paused}</span>}
      </h2>
      {isNow && (
        <div class="filters">
          <select
            aria-label={T.call}
            onChange={({ currentTarget }) => change({ call: currentTarget.value })}
          >
            <option value="">{T.everyCall}</option>
            {FILTERED_CALLS.map((call) => (
              <option key={call} value={call}>
                {TEXTS.calls[call]}
              </option>
            ))}
          </select>
          <input
            type="search"
            placeholder={T.session}
            aria-label={T.session}
            onInput={({ currentTarget }) => change({ session: currentTarget.value.trim() })}
          />
        </div>
      )}
      {rows.length === 0 && <p class="note">{isFiltered ? T.nothingPasses : T.nothingHappened}</p>}
      <ol
        tabIndex={0}
        aria-label={T.happenings}
        onPointerEnter={hold}
        onPointerLeave={release}
        onFocus={hold}
        onBlur={release}
      >
        {rows.map((row) => (
          <li key={row.sequence}>
            <time>{clockTime(timeMs(row.time))}</time>
            <Mark state={STATE_AFTER[row.call] ?? SeatState.UNPRICED} />
            <span class="name">{groupName(event, row)}</span>
            <span class="call">{TEXTS.calls[row.call] ?? row.call}</span>
            <code>{row.sessionId}</code>
          </li>
        ))}
      </ol>
    </section>
  );
}

function ServerHealth({ watch }: WatchProps) {
  const figures = watch.server.value;
  const isShown = watch.hasMetrics.value;
  return (
    <section class="server-health">
      <h2>
        {T.server}
        {figures !== null && (
          <span class={figures.isWritable ? "good" : "bad"}>
            {figures.isWritable ? T.writable : T.notWritable}
          </span>
        )}
      </h2>
      {!isShown && <p class="note">{T.serverHidden}</p>}
      {isShown && figures === null && <p class="note">{T.serverWaits}</p>}
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
  const { milliseconds, kilobytes, none } = T;
  const duration = (ms: number | null) => (ms === null ? none : milliseconds(String(ms)));
  return [
    [T.requestTime, duration(figures.requestMs)],
    [T.syncTime, duration(figures.syncMs)],
    [T.requests, figures.requestsPerSecond.toFixed(1)],
    [T.refusals, whole(figures.refusalsPerMinute)],
    [T.logGrowth, kilobytes((figures.logBytesPerSecond / 1_000).toFixed(1))],
  ];
}
