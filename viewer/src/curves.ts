// Curves under the scene, in step with it. They are drawn once; a line across each of them says what time it is.

import uPlot from "uplot";
import type { Curve, Difference, Run } from "./data";
import { h, say, shortly, written } from "./dom";
import { lastAtMost } from "./motion";
import type { Theme } from "./theme";

interface Series {
  label: string;
  /** The run, where several runs have several components each. */
  run?: string;
  color: string;
  dash: number[];
  t: Float64Array;
  values: Float32Array | Float64Array;
}

export interface ChartData {
  title: string;
  unit: string;
  log: boolean;
  series: Series[];
}

/** Zeros are drawn here on logarithmic axes: below the round-off of doubles. */
const FLOOR = 1e-17;
const DASHES = [[], [6, 4], [2, 3], [8, 3, 2, 3]];

/** Groups the curves of all runs: what has the same key stands in one chart. */
export function charts(runs: Pick<Run, "name" | "curves">[], differences: Difference[], look: Theme): ChartData[] {
  const found = new Map<string, ChartData>();
  const several = runs.length > 1;
  runs.forEach((run, r) => {
    for (const curve of run.curves) {
      const chart = found.get(curve.key) ?? { title: curve.title, unit: curve.unit, log: curve.log, series: [] };
      found.set(curve.key, chart);
      chart.series.push(...seriesOf(curve, run.name, r, several, look));
    }
  });
  const all = [...found.values()];
  if (differences.length > 0) {
    all.unshift({
      title: "difference",
      unit: "°",
      log: true,
      series: differences.map((d, n) => ({
        label: `${runs[d.a]?.name ?? d.a} – ${runs[d.b]?.name ?? d.b}`,
        color: look.runs[d.b % look.runs.length]!,
        dash: DASHES[n % DASHES.length]!,
        t: d.t,
        values: d.degrees,
      })),
    });
  }
  return all;
}

/** Components have the colours of their axes and runs have dashes; single curves have the colours of their runs. */
function seriesOf(curve: Curve, name: string, run: number, several: boolean, look: Theme): Series[] {
  const components = curve.values.length > 1;
  return curve.values.map((values, n) => ({
    label: components ? (curve.labels[n] ?? String(n + 1)) : several ? name : (curve.labels[0] ?? ""),
    ...(components && several ? { run: name } : {}),
    color: components ? (look.axes[n] ?? look.ink) : several ? look.runs[run % look.runs.length]! : look.momentum,
    dash: components ? DASHES[run % DASHES.length]! : [],
    t: curve.t,
    values,
  }));
}

/** The powers of ten between two numbers, not too many of them. */
function powersOfTen(min: number, max: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(min) - 1e-9), Math.floor(Math.log10(max) + 1e-9)];
  const stride = Math.max(1, Math.ceil((last - first + 1) / 5));
  const powers: number[] = [];
  for (let n = Math.ceil(first / stride) * stride; n <= last; n += stride) powers.push(10 ** n);
  return powers;
}

/** Whole decades around all but the very smallest values, which are what the first steps leave. */
function decades(series: Series[]): [number, number] {
  const all = series.flatMap((s) =>
    Array.from(s.values, Math.abs).filter((v) => v > 1.5 * FLOOR && Number.isFinite(v)),
  );
  if (all.length === 0) return [FLOOR, 1e-15];
  all.sort((x, y) => x - y);
  const low = Math.floor(Math.log10(all[Math.floor(all.length / 50)]!));
  const high = Math.ceil(Math.log10(all[all.length - 1]!));
  return [10 ** low, 10 ** Math.max(high, low + 2)];
}

/** Distances between the ticks of angles, in degrees. */
const DEGREES = [0.001, 0.01, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45, 90, 180, 360];

/** The range of an axis of angles: large ones begin and end at multiples of 45 degrees. */
const degrees = (_: uPlot, min: number, max: number): uPlot.Range.MinMax =>
  max - min > 60 ? [45 * Math.floor(min / 45), 45 * Math.ceil(max / 45)] : uPlot.rangeNum(min, max, 0.1, true);

class Chart {
  readonly element: HTMLElement;
  private readonly plot: uPlot;
  private readonly now: HTMLElement;
  private readonly readings: [HTMLElement, Series][] = [];
  private readonly box: HTMLElement;
  private readonly watch: ResizeObserver;
  private time = Number.NaN;

  constructor(
    data: ChartData,
    timeUnit: string,
    look: Theme,
    seek: (t: number) => void,
    zoom: (min: number, max: number) => void,
  ) {
    this.box = h("div", { class: "plot", "aria-hidden": "true" });
    const legend = h("ul", {});
    const item = (label: string, color: string, dash: number[], value?: HTMLElement): void => {
      const swatch = h("i", {});
      swatch.style.borderTopColor = color;
      swatch.style.borderTopStyle = dash.length > 0 ? "dashed" : "solid";
      legend.append(h("li", {}, swatch, `${label} `, ...(value ? [value] : [])));
    };
    if (data.series.some((s) => s.run !== undefined)) {
      const unique = <T>(values: T[]): T[] => [...new Set(values)];
      for (const label of unique(data.series.map((s) => s.label))) {
        item(label, data.series.find((s) => s.label === label)!.color, []);
      }
      for (const run of unique(data.series.map((s) => s.run!))) {
        item(run, look.ink, data.series.find((s) => s.run === run)!.dash);
      }
    } else {
      for (const series of data.series) {
        const value = h("output", {});
        item(series.label, series.color, series.dash, value);
        this.readings.push([value, series]);
      }
    }
    const title = data.unit ? `${data.title} (${data.unit})` : data.title;
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, h("b", {}, title), legend), this.box);
    const values = (series: Series): number[] => {
      const list = Array.from(series.values, (v) => (Number.isFinite(v) ? v : null)) as number[];
      return data.log ? list.map((v) => (v === null ? v : Math.max(Math.abs(v), FLOOR))) : list;
    };
    const tables = data.series.map((s): uPlot.AlignedData => [Array.from(s.t), values(s)]);
    const same = data.series.every((s) => s.t === data.series[0]!.t);
    const table: uPlot.AlignedData = same
      ? [tables[0]![0], ...tables.map((t) => t[1]!)]
      : uPlot.join(
          tables,
          tables.map(() => [2]),
        );
    const grid = { stroke: look.plane, width: 0.75 };
    const axis = { stroke: look.ink, grid, ticks: { ...grid, size: 4 }, font: "11px system-ui, sans-serif" };
    let down = 0;
    let propagate = true;
    this.plot = new uPlot(
      {
        width: 320,
        height: 130,
        legend: { show: false },
        cursor: { drag: { x: true, y: false, dist: 6 }, points: { show: false }, y: false },
        scales: {
          x: { time: false },
          y: data.log
            ? { distr: 3, log: 10, range: decades(data.series) }
            : data.unit === "°"
              ? { range: degrees }
              : {},
        },
        axes: [
          {
            ...axis,
            size: 24,
            values: (_, v) => v.map((x, n) => (n === v.length - 1 ? `${shortly(x)} ${timeUnit}` : shortly(x))),
          },
          data.log
            ? {
                ...axis,
                size: 44,
                splits: (_, __, min, max) => powersOfTen(min, max),
                filter: (_, v) => v,
                values: (_, v) => v.map(power),
              }
            : {
                ...axis,
                size: 44,
                ...(data.unit === "°" ? { incrs: DEGREES, space: 22 } : {}),
                values: (_, v) => v.map((x) => shortly(x)),
              },
        ],
        series: [
          { label: timeUnit },
          ...data.series.map((s) => ({
            label: s.label,
            stroke: s.color,
            width: 1.5,
            dash: s.dash,
            spanGaps: true,
            pxAlign: 0, // points on whole pixels make stairs of smooth curves
            points: { show: false },
          })),
        ],
        hooks: {
          draw: [() => this.placeMark()], // also after a new size or another stretch of time, while nothing plays
          setScale: [
            (u, key) => {
              const { min, max } = u.scales.x!;
              if (key === "x" && propagate && min != null && max != null) zoom(min, max);
            },
          ],
        },
      },
      table,
      this.box,
    );
    this.zoomTo = (min, max) => {
      propagate = false;
      this.plot.batch(() => this.plot.setScale("x", { min, max }));
      propagate = true;
    };
    this.now = h("div", { class: "now" });
    this.plot.over.append(this.now);
    this.plot.over.addEventListener("pointerdown", (event) => {
      down = event.clientX;
    });
    this.plot.over.addEventListener("click", (event) => {
      const left = this.plot.over.getBoundingClientRect().left;
      if (Math.abs(event.clientX - down) < 6) seek(this.plot.posToVal(event.clientX - left, "x"));
    });
    this.watch = new ResizeObserver(() => {
      const { width, height } = this.box.getBoundingClientRect();
      if (width > 40 && height > 40) this.plot.setSize({ width: Math.floor(width), height: Math.floor(height) });
    });
    this.watch.observe(this.box);
  }

  readonly zoomTo: (min: number, max: number) => void;

  move(t: number): void {
    this.time = t;
    this.placeMark();
    for (const [output, series] of this.readings) {
      const n = Math.max(lastAtMost(series.t, t), 0);
      say(output, written(series.values[n] ?? Number.NaN, 3));
    }
  }

  /** Puts the line that says what time it is where the axis has that time. */
  private placeMark(): void {
    if (Number.isNaN(this.time)) return;
    const x = this.plot.valToPos(this.time, "x");
    const inside = x >= -1 && x <= this.plot.over.clientWidth + 1;
    this.now.hidden = !inside;
    if (inside) this.now.style.transform = `translateX(${x.toFixed(1)}px)`;
  }

  discard(): void {
    this.watch.disconnect();
    this.plot.destroy();
    this.element.remove();
  }
}

const power = (x: number): string => written(x, 1).replace(/^1·/, "");

/** All charts of a page. */
export class Charts {
  readonly element = h("div", { class: "charts", role: "group", "aria-label": "Curves" });
  private list: Chart[] = [];

  build(data: ChartData[], timeUnit: string, look: Theme, seek: (t: number) => void): void {
    for (const chart of this.list) chart.discard();
    let zooming = false;
    const zoom = (min: number, max: number): void => {
      if (zooming) return;
      zooming = true;
      for (const chart of this.list) chart.zoomTo(min, max);
      zooming = false;
    };
    this.list = data.filter((d) => d.series.length > 0).map((d) => new Chart(d, timeUnit, look, seek, zoom));
    this.element.replaceChildren(...this.list.map((c) => c.element));
    this.element.hidden = this.list.length === 0;
  }

  move(t: number): void {
    for (const chart of this.list) chart.move(t);
  }

  discard(): void {
    for (const chart of this.list) chart.discard();
    this.list = [];
  }
}
