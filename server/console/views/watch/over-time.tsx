/** Sold, held and free over time: a stacked chart, and the same as a table for screen readers. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { TEXTS } from "../../texts.ts";
import { clockTime, whole } from "./format.ts";

const HEIGHT = 150;
const AXIS_WIDTH = 46;
/** Of a time at the axis, less the padding. */
const TIME_WIDTH = 40;
/** Seconds between two times at the axis. */
const STEPS = [5, 10, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600];
/** The chart is at least and at most so many seconds wide. */
const SECONDS_MIN = 30;
const SECONDS_MAX = 7_200;
const ROWS = 5;

interface OverTimeProps {
  /** Seconds since 1970; sold, held, free. */
  readonly columns: readonly number[][];
}

export function OverTime({ columns }: OverTimeProps) {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    const made = createChart(element.current!);
    chart.current = made;
    const resizes = new ResizeObserver(([entry]) =>
      made.setSize({ width: Math.floor(entry!.contentRect.width), height: HEIGHT }),
    );
    resizes.observe(element.current!);
    return () => {
      resizes.disconnect();
      made.destroy();
    };
  }, []);
  useEffect(() => chart.current?.setData(stacked(columns)), [columns]);
  return (
    <section class="over-time">
      <h2>{TEXTS.watch.overTime}</h2>
      <div ref={element} class="chart" aria-hidden="true" />
      <AsTable columns={columns} />
    </section>
  );
}

/** A few moments of the chart, for who cannot see it. */
function AsTable({ columns }: OverTimeProps) {
  const [times, sold, held, free] = columns as [number[], number[], number[], number[]];
  const last = times.length - 1;
  if (last < 0) return null;
  const rows = Array.from({ length: ROWS }, (_, i) => Math.round((last * i) / (ROWS - 1)));
  const clock = (row: number) => clockTime(times[row]! * 1_000);
  return (
    <table class="for-readers">
      <caption>{TEXTS.watch.overTimeIs(clock(0), clock(last))}</caption>
      <thead>
        <tr>
          {[TEXTS.watch.time, TEXTS.states[4], TEXTS.states[3], TEXTS.states[2]].map((name) => (
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
  // A figure stays what it is until the next change.
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
    height: HEIGHT,
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

/** A time that the edge would cut is left out. */
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
