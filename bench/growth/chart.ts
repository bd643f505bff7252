/** Draws a series as an SVG with Apache ECharts, without a browser. */
import * as echarts from "echarts";
import type { Spread } from "../harness/measure.ts";

export interface Point extends Spread {
  readonly x: number;
}

export interface Chart {
  readonly title: string;
  readonly xName: string;
  readonly yName: string;
  /** Whether the x axis is logarithmic. */
  readonly isLogX: boolean;
  readonly points: readonly Point[];
}

const SIZE = { width: 720, height: 360 };

/** The line is the median; the band reaches from the lowest to the highest round. */
export function chartSvg({ title, xName, yName, isLogX, points }: Chart): string {
  // Zero has no logarithm, so it is drawn at one.
  const at = ({ x }: Point) => (isLogX ? Math.max(1, x) : x);
  const band = { type: "line", stack: "band", symbol: "none", lineStyle: { opacity: 0 } } as const;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, ...SIZE });
  chart.setOption({
    animation: false,
    backgroundColor: "#ffffff",
    title: { text: title, left: "center" },
    grid: { left: 80, right: 40, bottom: 60 },
    xAxis: { type: isLogX ? "log" : "value", name: xName, nameLocation: "middle", nameGap: 32 },
    yAxis: { type: "value", name: yName, min: 0 },
    series: [
      { ...band, data: points.map((point) => [at(point), point.low]) },
      {
        ...band,
        areaStyle: { color: "#9ecae1", opacity: 0.6 },
        data: points.map((point) => [at(point), point.high - point.low]),
      },
      {
        type: "line",
        symbolSize: 7,
        color: "#08519c",
        data: points.map((point) => [at(point), point.median]),
      },
    ],
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return `${svg}\n`;
}
