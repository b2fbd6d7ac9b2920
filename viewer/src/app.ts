// The page: a stage with panels, the time bar, the curves, and in the playground the sliders.

import { Vector3, WebGLRenderer } from "three";
import { Clock, SPEED_RANGE } from "./clock";
import { type ChartData, Charts, charts } from "./curves";
import type { Page } from "./data";
import { h, say, shortly, written } from "./dom";
import { freeMotion, type Quat, type Vec } from "./free";
import { helpDialog } from "./help";
import { Exact, lastAtMost, Rows } from "./motion";
import { Viewpoint } from "./panel";
import { AXIS_BEYOND, BodyPanel, PoinsotPanel, type Shown, SpherePanel } from "./panels";
import { Playground } from "./playground";
import { halfEdges, Subject } from "./subject";
import { type Theme, theme } from "./theme";

export interface Options {
  /** Starts by itself, unless the reader prefers less motion. */
  autoplay: boolean;
  /** Called when the time has changed, at most once a frame. */
  onTime?: (time: number) => void;
}

/** What a script can do with a page: documented in docs/howto/page.md. */
export interface Handle {
  time: number;
  speed: number;
  readonly start: number;
  readonly end: number;
  readonly playing: boolean;
  /** Frames drawn so far, and what the last one took, in milliseconds. */
  readonly frames: number;
  readonly frameCost: number;
  readonly runs: string[];
  play(): void;
  pause(): void;
  /** Where a body point (body axes, units of the largest half edge) is seen: pixels from the corner of the window. */
  project(point: Vec, run?: number): { x: number; y: number };
  /** Attitude (body to space, scalar first) and rate (body axes) of a run at the present time. */
  state(run?: number): { q: Quat; omega: Vec };
  /** The viewpoint of the bodies: radians, and a distance in units of the largest half edge. */
  view: { azimuth: number; elevation: number; distance: number };
  /** The exact free motion from the identity, in principal axes: rows of w, x, y, z and the rate. */
  exact(moments: Vec, omega: Vec, times: number[]): number[][];
  /** Draws at once what the next frame would draw. */
  draw(): void;
  discard(): void;
}

const IDENTITY: Quat = [1, 0, 0, 0];

export class App {
  readonly handle: Handle;
  private readonly page: Page;
  private readonly options: Options;
  private readonly root: HTMLElement;
  private readonly renderer: WebGLRenderer;
  private readonly stage = h("div", { class: "stage" });
  private readonly bodies = h("div", { class: "bodies" });
  private readonly side = h("div", { class: "side" });
  private readonly viewpoint = new Viewpoint(0.62, 0.28, 8);
  private readonly shown: Shown = {
    body: true,
    bodyAxes: true,
    spaceAxes: true,
    momentum: true,
    rate: true,
    torque: true,
    trails: true,
  };
  private readonly charts = new Charts();
  private readonly playground: Playground | null;
  private readonly poinsot: PoinsotPanel;
  private readonly sphere: SpherePanel;
  private panels: BodyPanel[] = [];
  private readouts: HTMLElement[] = [];
  private subjects: Subject[] = [];
  private exact: Exact | null = null;
  private chosen = 0;
  private overlay = false;
  private dark: boolean;
  private clock: Clock;
  private events: { name: string; t: number }[] = [];
  private eventTimes: number[] = [];
  private readonly parts = {
    play: h("button", { type: "button", class: "play", "aria-label": "Play" }),
    back: h("button", { type: "button", "aria-label": "One step back", title: "One step back (←)" }, "‹"),
    forth: h("button", { type: "button", "aria-label": "One step forward", title: "One step forward (→)" }, "›"),
    before: h("button", { type: "button", "aria-label": "Previous event", title: "Previous event (P)" }, "⇤"),
    after: h("button", { type: "button", "aria-label": "Next event", title: "Next event (N)" }, "⇥"),
    slider: h("input", { type: "range", class: "time", min: 0, max: 10000, step: 1, "aria-label": "Time" }),
    ticks: h("div", { class: "ticks", "aria-hidden": "true" }),
    time: h("input", {
      type: "text",
      class: "clock",
      inputmode: "decimal",
      "aria-label": "Time, as a number",
      spellcheck: false,
    }),
    unit: h("span", {}),
    speed: h("input", {
      type: "range",
      min: -SPEED_RANGE,
      max: SPEED_RANGE,
      step: 0.05,
      value: 0,
      "aria-label": "Speed",
    }),
    pace: h("output", { class: "pace" }),
    event: h("output", { class: "event" }),
    difference: h("output", { class: "difference" }),
    overlay: h("button", { type: "button", "aria-pressed": "false", title: "All runs in one picture (O)" }, "Overlay"),
    theme: h("button", { type: "button", "aria-label": "Dark or light", title: "Dark or light (T)" }, "◐"),
    help: h("button", { type: "button", "aria-label": "Help", title: "Help (?)" }, "?"),
  };
  private readonly help = helpDialog();
  private readonly undo: (() => void)[] = [];
  private request = 0;
  private last = 0;
  private frames = 0;
  private frameCost = 0;
  private told = Number.NaN;
  /** The sliders have moved since the last frame: however often, the motion is set up once. */
  private stale = false;

  constructor(root: HTMLElement, page: Page, options: Options) {
    this.root = root;
    this.page = page;
    this.options = options;
    const prefersDark = matchMedia("(prefers-color-scheme: dark)");
    this.dark = prefersDark.matches;
    this.listen(prefersDark, "change", () => this.setTheme(prefersDark.matches));
    this.renderer = new WebGLRenderer({ antialias: true, alpha: true, powerPreference: "low-power" });
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setScissorTest(true);
    this.renderer.domElement.setAttribute("aria-hidden", "true");
    const redraw = (): void => this.wake();
    this.poinsot = new PoinsotPanel(redraw);
    this.sphere = new SpherePanel(redraw);
    this.playground = page.playground
      ? new Playground(() => {
          this.stale = true;
          this.wake();
        })
      : null;
    this.clock = new Clock(0, 1, 1);
    this.layOut();
    this.listenToControls();
    if (this.playground) this.setUpPlayground();
    else this.setUpRuns();
    const watch = new ResizeObserver(() => this.wake());
    watch.observe(this.stage);
    this.undo.push(() => watch.disconnect());
    this.handle = this.makeHandle();
    if (options.autoplay && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.play();
    this.wake();
  }

  // --- what is shown ---------------------------------------------------------------------------------------------

  private get look(): Theme {
    return theme(this.dark);
  }

  private colored(): { subject: Subject; color: string }[] {
    const { runs } = this.look;
    return this.subjects.map((subject, n) => ({ subject, color: runs[n % runs.length]! }));
  }

  private layOut(): void {
    const { parts } = this;
    this.stage.append(this.renderer.domElement, this.bodies, this.side);
    this.side.append(this.poinsot.cell, this.sphere.cell);
    const several = this.page.runs.length > 1;
    parts.overlay.hidden = !several;
    const bar = h(
      "div",
      { class: "bar", role: "group", "aria-label": "Time" },
      h("div", { class: "buttons" }, parts.before, parts.back, parts.play, parts.forth, parts.after),
      h("div", { class: "track" }, parts.ticks, parts.slider),
      h("label", { class: "now-at" }, "t = ", parts.time, parts.unit),
      h("label", { class: "speed" }, h("span", {}, "speed"), parts.speed, parts.pace),
      parts.event,
    );
    const header = h(
      "header",
      {},
      h("h1", {}, this.page.title || "polhode"),
      parts.difference,
      h("div", { class: "tools" }, parts.overlay, this.menu(), parts.theme, parts.help),
    );
    const frame = h("div", { class: `frame${this.playground ? " with-playground" : ""}` }, header);
    if (this.playground) frame.append(this.playground.element);
    frame.append(this.stage, bar, this.charts.element, this.help);
    this.root.classList.add("polhode");
    this.root.replaceChildren(frame);
  }

  /** The menu of what is shown. */
  private menu(): HTMLElement {
    const names: [keyof Shown, string][] = [
      ["body", "Body"],
      ["bodyAxes", "Body axes 1 2 3"],
      ["spaceAxes", "Space axes X Y Z"],
      ["momentum", "Angular momentum L"],
      ["rate", "Rate ω"],
      ["torque", "Torque τ"],
      ["trails", "Trails"],
    ];
    const list = h("div", { class: "menu" });
    for (const [key, name] of names) {
      const check = h("input", { type: "checkbox", checked: true });
      check.addEventListener("change", () => {
        this.shown[key] = check.checked;
        this.build();
      });
      list.append(h("label", {}, check, ` ${name}`));
    }
    const menu = h("details", {}, h("summary", {}, "Show"), list);
    this.listen(document, "pointerdown", (event) => {
      if (!menu.contains(event.target as Node)) menu.open = false;
    });
    return menu;
  }

  private setUpRuns(): void {
    const runs = this.page.runs;
    this.subjects = runs.map((run) => new Subject(run, new Rows(run)));
    if (this.subjects.length === 0) throw new Error("this page has no runs to show");
    const motions = this.subjects.map((s) => s.motion);
    const start = Math.min(...motions.map((m) => m.start));
    const end = Math.max(...motions.map((m) => m.end));
    this.clock = new Clock(start, end, Math.max(...motions.map((m) => m.pace)));
    const several = runs.length > 1;
    this.events = runs
      .flatMap((run) =>
        run.events.flatMap((e) => e.t.map((t) => ({ t, name: several ? `${e.name} (${run.name})` : e.name }))),
      )
      .sort((a, b) => a.t - b.t);
    this.eventTimes = this.events.map((e) => e.t);
    this.build();
  }

  private setUpPlayground(): void {
    this.stale = false;
    const { moments, omega, unit } = this.playground!.settings;
    const exact = new Exact(moments, omega);
    const L: Vec = [moments[0] * omega[0], moments[1] * omega[1], moments[2] * omega[2]];
    const edges = halfEdges(moments);
    const longest = edges.indexOf(Math.max(...edges));
    const end = [0, 0, 0];
    end[longest] = edges[longest]! + AXIS_BEYOND;
    const { free } = exact;
    const mode = {
      "short-axis": "short-axis mode",
      "long-axis": "long-axis mode",
      separatrix: "on the separatrix",
      steady: "steady rotation",
    };
    const subject = new Subject(
      {
        name: "Free motion",
        caption: ["exact at any time: Jacobi’s elliptic functions, computed in this page"],
        moments,
        principal: IDENTITY,
        rotor: null,
        free: true,
        upright: uprightOf(L),
        units: { time: unit, rate: `rad/${unit}` },
        points: [end as unknown as Vec],
        mesh: null,
        events: [],
      },
      exact,
    );
    const oscillates = free.mode === "short-axis" || free.mode === "long-axis";
    this.playground!.tell([
      ["Mode", mode[free.mode]],
      ["Period in the body", oscillates ? `${written(free.period)} ${unit}` : "none"],
      ["Modulus k", written(free.modulus, 5)],
      ["Rate |ω| at the start", `${written(Math.hypot(...omega))} rad/${unit}`],
      ["G² / 2T", written(effectiveMoment(moments, omega))],
    ]);
    const before = this.exact === null ? null : this.clock;
    this.exact = exact;
    this.subjects = [subject];
    this.clock = new Clock(0, exact.end, exact.pace);
    if (before) Object.assign(this.clock, { playing: before.playing, loop: before.loop, speed: before.speed });
    this.build();
  }

  /** Builds everything that colours, runs or settings change. */
  private build(): void {
    const all = this.colored();
    const together = this.overlay ? [all] : all.map((one) => [one]);
    const redraw = (): void => this.wake();
    for (const panel of this.panels) panel.empty();
    this.readouts = [];
    this.panels = together.map((group, n) => {
      const panel = new BodyPanel("", this.viewpoint, this.shown, redraw);
      panel.build(group, this.look);
      panel.cell.querySelector("h2")!.replaceWith(this.caption(group));
      panel.cell.setAttribute("aria-label", `Body: ${group.map((g) => g.subject.about.name).join(" and ")}`);
      panel.cell.addEventListener("focus", () => this.choose(n));
      const readout = h("output", { class: "readout" });
      panel.cell.append(readout);
      this.readouts.push(readout);
      return panel;
    });
    this.bodies.replaceChildren(...this.panels.map((p) => p.cell));
    this.bodies.style.setProperty("--columns", String(columns(this.panels.length)));
    this.bodies.style.setProperty("--panels", String(this.panels.length));
    this.root.classList.toggle("wide", this.panels.length > 1 || this.playground !== null);
    this.root.dataset.theme = this.dark ? "dark" : "light";
    this.poinsot.build(this.subjects[this.chosen]!, this.look);
    this.sphere.build(this.sphereSubjects(), this.look);
    this.buildCurves();
    this.buildTicks();
    say(this.parts.unit, this.subjects[0]!.unit("time", "s"));
    const noEvents = this.events.length === 0 && !this.exact?.free.flips;
    this.parts.before.hidden = noEvents;
    this.parts.after.hidden = noEvents;
    this.told = Number.NaN;
    this.showSpeed();
    this.wake();
  }

  /** The chosen run first: its level curves are drawn. */
  private sphereSubjects(): { subject: Subject; color: string }[] {
    const all = this.colored();
    return [all[this.chosen]!, ...all.filter((_, n) => n !== this.chosen)];
  }

  private choose(n: number): void {
    if (this.overlay || n === this.chosen || n >= this.subjects.length) return;
    this.chosen = n;
    this.poinsot.build(this.subjects[n]!, this.look);
    this.sphere.build(this.sphereSubjects(), this.look);
    this.wake();
  }

  private caption(group: { subject: Subject; color: string }[]): HTMLElement {
    const box = h("div", { class: "caption" });
    for (const { subject, color } of group) {
      const { name, caption } = subject.about;
      const swatch = h("i", {});
      swatch.style.background = color;
      const title = h("h2", {}, ...(this.subjects.length > 1 ? [swatch, name] : [name]));
      box.append(title, h("p", {}, ...caption.map((text) => h("span", {}, text))));
    }
    return box;
  }

  private buildCurves(): void {
    const unit = this.subjects[0]!.unit("time", "s");
    const data = this.exact ? this.exactCurves() : charts(this.page.runs, this.page.differences, this.look);
    this.charts.build(data, unit, this.look, (t) => this.seek(t));
    this.charts.element.style.setProperty("--count", String(data.length));
  }

  /** The curves of the playground: rates, and how far the axes are from the angular momentum. */
  private exactCurves(): ChartData[] {
    const { start, end } = this.exact!;
    const subject = this.subjects[0]!;
    const count = 700;
    const t = Float64Array.from({ length: count + 1 }, (_, n) => start + ((end - start) * n) / count);
    const rates = [0, 1, 2].map(() => new Float64Array(count + 1));
    const angles = [0, 1, 2].map(() => new Float64Array(count + 1));
    for (let n = 0; n <= count; n++) {
      const { principalRate, spin } = subject.at(t[n]!);
      spin.normalize();
      for (let axis = 0; axis < 3; axis++) {
        rates[axis]![n] = principalRate.getComponent(axis);
        angles[axis]![n] = (Math.acos(Math.min(Math.max(spin.getComponent(axis), -1), 1)) * 180) / Math.PI;
      }
    }
    const series = (letter: string, values: Float64Array[]) =>
      values.map((v, n) => ({ label: `${letter}${"₁₂₃"[n]}`, color: this.look.axes[n]!, dash: [], t, values: v }));
    return [
      { title: "rates about the axes", unit: subject.unit("rate", "rad/s"), log: false, series: series("ω", rates) },
      { title: "angles between axes and L", unit: "°", log: false, series: series("∠", angles) },
    ];
  }

  private buildTicks(): void {
    const { start, end } = this.clock;
    const marks = this.eventsBetween(start, end).slice(0, 300);
    this.parts.ticks.replaceChildren(
      ...marks.map(({ t }) => {
        const tick = h("i", {});
        tick.style.left = `${(100 * (t - start)) / Math.max(end - start, 1e-300)}%`;
        return tick;
      }),
    );
  }

  private eventsBetween(start: number, end: number): { name: string; t: number }[] {
    const flips = this.exact?.free.flips;
    if (!flips) return this.events;
    const first = Math.ceil((start - flips.first) / flips.every);
    const last = Math.floor((end - flips.first) / flips.every);
    const count = Math.min(Math.max(last - first + 1, 0), 300);
    return Array.from({ length: count }, (_, n) => ({ name: "flip", t: flips.first + (first + n) * flips.every }));
  }

  // --- controls --------------------------------------------------------------------------------------------------

  private listen<T extends EventTarget>(target: T, name: string, f: (event: Event) => void): void {
    target.addEventListener(name, f);
    this.undo.push(() => target.removeEventListener(name, f));
  }

  private listenToControls(): void {
    const { parts } = this;
    parts.play.addEventListener("click", () => this.toggle());
    parts.back.addEventListener("click", () => this.step(-1));
    parts.forth.addEventListener("click", () => this.step(1));
    parts.before.addEventListener("click", () => this.jump(-1));
    parts.after.addEventListener("click", () => this.jump(1));
    parts.slider.addEventListener("input", () => {
      const { start, end } = this.clock;
      this.seek(start + ((end - start) * Number(parts.slider.value)) / 10000);
    });
    parts.time.addEventListener("change", () => {
      const t = Number(parts.time.value.replace("−", "-"));
      if (parts.time.value.trim() !== "" && Number.isFinite(t)) this.seek(t);
      parts.time.blur();
      this.told = Number.NaN;
      this.wake();
    });
    parts.time.addEventListener("focus", () => {
      this.pause();
      parts.time.value = String(this.clock.time);
      parts.time.select();
    });
    parts.speed.addEventListener("input", () => {
      this.clock.setSpeed(10 ** Number(parts.speed.value));
      this.showSpeed();
    });
    parts.overlay.addEventListener("click", () => this.setOverlay(!this.overlay));
    parts.theme.addEventListener("click", () => this.setTheme(!this.dark));
    parts.help.addEventListener("click", () => this.help.showModal());
    this.listen(this.options.autoplay ? document : this.root, "keydown", (event) => this.key(event as KeyboardEvent));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.help.open) return;
    const target = event.target as HTMLElement;
    const typing = target instanceof HTMLInputElement && (target.type === "text" || target.type === "number");
    const ownArrows = target instanceof HTMLInputElement && target.type === "range" && target !== this.parts.slider;
    const pressed = target.closest("button, summary, input[type=checkbox]") !== null;
    if (typing) return;
    const arrow = event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End";
    if (ownArrows && arrow) return;
    if (pressed && (event.key === " " || event.key === "Enter")) return;
    const many = event.shiftKey ? 10 : 1;
    const actions: Record<string, () => void> = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.step(-many),
      ArrowRight: () => this.step(many),
      ArrowUp: () => this.faster(1),
      ArrowDown: () => this.faster(-1),
      Home: () => this.seek(this.clock.start),
      End: () => this.seek(this.clock.end),
      n: () => this.jump(1),
      p: () => this.jump(-1),
      a: () => this.viewpoint.turn(-0.1, 0),
      d: () => this.viewpoint.turn(0.1, 0),
      w: () => this.viewpoint.turn(0, 0.1),
      s: () => this.viewpoint.turn(0, -0.1),
      "+": () => this.viewpoint.zoom(1 / 1.1),
      "=": () => this.viewpoint.zoom(1 / 1.1),
      "-": () => this.viewpoint.zoom(1.1),
      r: () => this.viewpoint.reset(),
      o: () => this.subjects.length > 1 && this.setOverlay(!this.overlay),
      t: () => this.setTheme(!this.dark),
      l: () => this.setLoop(!this.clock.loop),
      "?": () => this.help.showModal(),
      h: () => this.help.showModal(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation(); // notebooks have meanings of their own for these keys
    action();
    this.wake();
  }

  private setLoop(loop: boolean): void {
    this.clock.loop = loop;
    say(this.parts.event, loop ? "starts again at the end" : "stops at the end");
  }

  private setOverlay(overlay: boolean): void {
    this.overlay = overlay;
    this.parts.overlay.setAttribute("aria-pressed", String(overlay));
    this.chosen = 0;
    this.build();
  }

  private setTheme(dark: boolean): void {
    this.dark = dark;
    this.build();
  }

  private faster(steps: number): void {
    this.clock.setSpeed(10 ** (Math.round((Math.log10(this.clock.speed) + 0.25 * steps) * 4) / 4));
    this.showSpeed();
  }

  private showSpeed(): void {
    const { speed, ordinary } = this.clock;
    const unit = this.subjects[0]!.unit("time", "s");
    const rate = `${shortly(speed * ordinary, 2)} ${unit} a second`;
    this.parts.speed.value = String(Math.log10(speed));
    this.parts.speed.setAttribute("aria-valuetext", `${shortly(speed, 2)} times: ${rate}`);
    say(this.parts.pace, `×${shortly(speed, 2)} = ${shortly(speed * ordinary, 2)} ${unit}/s`);
    this.wake();
  }

  private toggle(): void {
    if (this.clock.playing) this.pause();
    else this.play();
  }

  private play(): void {
    if (!this.exact && this.clock.time >= this.clock.end) this.clock.time = this.clock.start;
    this.clock.playing = true;
    this.last = 0;
    this.wake();
  }

  private pause(): void {
    this.clock.playing = false;
    this.wake();
  }

  private seek(t: number): void {
    this.clock.set(t, this.exact !== null);
    this.wake();
  }

  private step(steps: number): void {
    this.pause();
    this.seek(this.subjects[this.chosen]!.motion.stepped(this.clock.time, steps));
  }

  private jump(direction: number): void {
    const { time, start, end } = this.clock;
    const near = 1e-9 * (end - start);
    const all = this.exact ? this.eventsBetween(time - (end - start), time + (end - start)) : this.events;
    const found =
      direction > 0 ? all.find((e) => e.t > time + near) : [...all].reverse().find((e) => e.t < time - near);
    if (!found) return;
    this.pause();
    this.seek(found.t);
    say(this.parts.event, found.name);
  }

  // --- drawing ---------------------------------------------------------------------------------------------------

  /** Asks for a frame. Without play, without a change, nothing is drawn. */
  private wake(): void {
    if (this.request === 0) this.request = requestAnimationFrame((now) => this.frame(now));
  }

  private frame(now: number): void {
    this.request = 0;
    if (this.clock.playing) {
      // a page that was hidden does not leap
      if (this.last > 0) this.clock.advance(Math.min((now - this.last) / 1000, 0.25), this.exact !== null);
      this.last = now;
      this.wake();
    }
    this.draw();
  }

  private draw(): void {
    const began = performance.now();
    if (this.stale) this.setUpPlayground();
    const t = this.clock.time;
    if (this.exact?.show(t)) {
      this.clock.start = this.exact.start;
      this.clock.end = this.exact.end;
      this.buildCurves();
      this.buildTicks();
    }
    // first what is written: the pictures have the room that it leaves
    this.charts.move(t);
    this.tell(t);
    const stage = this.stage.getBoundingClientRect();
    const { width, height } = this.renderer.domElement.getBoundingClientRect();
    if (Math.abs(width - stage.width) > 0.5 || Math.abs(height - stage.height) > 0.5 || this.frames === 0) {
      this.renderer.setSize(stage.width, stage.height);
    }
    const all = [...this.panels, this.poinsot, this.sphere];
    for (const panel of all) {
      panel.move(t);
      panel.draw(this.renderer, stage);
    }
    this.frames += 1;
    this.frameCost = performance.now() - began;
  }

  /** Writes the time and the numbers of the present. */
  private tell(t: number): void {
    const { parts, clock } = this;
    const name = clock.playing ? "Pause" : "Play";
    if (parts.play.getAttribute("aria-label") !== name) {
      parts.play.setAttribute("aria-label", name);
      parts.play.classList.toggle("playing", clock.playing);
      parts.play.title = `${name} (space)`;
    }
    if (t === this.told) return;
    this.told = t;
    const unit = this.subjects[0]!.unit("time", "s");
    const span = clock.end - clock.start;
    parts.slider.value = String(span > 0 ? Math.round((10000 * (t - clock.start)) / span) : 0);
    const text = timeText(t, span);
    parts.slider.setAttribute("aria-valuetext", `${text} ${unit}`);
    if (document.activeElement !== parts.time) {
      parts.time.value = text;
      parts.time.style.width = `${text.length + 1.5}ch`;
    }
    this.readouts.forEach((readout, n) => {
      say(readout, this.reading(this.subjects[n]!, t));
    });
    const first = this.page.differences[0];
    if (first) {
      const row = Math.max(lastAtMost(first.t, t), 0);
      say(parts.difference, `difference ${written(first.degrees[row]!, 3)}°`);
    }
    const event = this.events[lastAtMost(this.eventTimes, t)];
    if (event && Math.abs(event.t - t) < 0.004 * span) say(parts.event, event.name);
    else if (this.events.length > 0) say(parts.event, "");
    this.options.onTime?.(t);
  }

  private reading(subject: Subject, t: number): string {
    const { rate, momentum, energy2, torque } = subject.at(t);
    const unit = (quantity: string, fallback: string): string => {
      const found = subject.unit(quantity, this.exact ? "" : fallback);
      return found && ` ${found}`;
    };
    const parts = [`|ω| ${written(rate.length())}${unit("rate", "rad/s")}`];
    if (!this.exact) {
      parts.push(
        `L ${written(momentum.length())}${unit("momentum", "kg m²/s")}`,
        `T ${written(energy2 / 2)}${unit("energy", "J")}`,
      );
    }
    if (torque && subject.largest.torque > 0) parts.push(`|τ| ${written(torque.length())}${unit("torque", "N m")}`);
    return parts.join("   ");
  }

  // --- for scripts -----------------------------------------------------------------------------------------------

  private makeHandle(): Handle {
    const app = this;
    return {
      get time() {
        return app.clock.time;
      },
      set time(t: number) {
        app.seek(t);
      },
      get speed() {
        return app.clock.speed;
      },
      set speed(speed: number) {
        app.clock.setSpeed(speed);
        app.showSpeed();
      },
      get start() {
        return app.clock.start;
      },
      get end() {
        return app.clock.end;
      },
      get playing() {
        return app.clock.playing;
      },
      get frames() {
        return app.frames;
      },
      get frameCost() {
        return app.frameCost;
      },
      get runs() {
        return app.subjects.map((s) => s.about.name);
      },
      play: () => app.play(),
      pause: () => app.pause(),
      project(point, run = 0) {
        const subject = app.subjects[run]!;
        const panel = app.overlay ? app.panels[0]! : app.panels[run]!;
        return panel.project(new Vector3(...point).applyQuaternion(subject.at(app.clock.time).attitude));
      },
      state(run = 0) {
        if (app.stale) app.setUpPlayground();
        const { q, omega } = app.subjects[run]!.motion.at(app.clock.time);
        return { q, omega };
      },
      get view() {
        const { azimuth, elevation, distance } = app.viewpoint;
        return { azimuth, elevation, distance };
      },
      set view(view) {
        Object.assign(app.viewpoint, view);
        app.wake();
      },
      exact(moments, omega, times) {
        const motion = freeMotion(moments, omega);
        return times.map((t) => {
          const state = motion.at(t);
          return [...state.q, ...state.omega];
        });
      },
      draw: () => app.draw(),
      discard: () => app.discard(),
    };
  }

  private discard(): void {
    cancelAnimationFrame(this.request);
    this.request = -1;
    for (const undo of this.undo) undo();
    this.charts.discard();
    for (const panel of [...this.panels, this.poinsot, this.sphere]) panel.empty();
    this.renderer.dispose();
    this.renderer.forceContextLoss();
    this.root.replaceChildren();
  }
}

/** Panels in a row: up to three, then as many rows as columns. */
const columns = (panels: number): number => (panels <= 3 ? panels : Math.ceil(Math.sqrt(panels)));

/** The time with as many places as a thousandth of the span needs. */
function timeText(t: number, span: number): string {
  const places = span > 0 ? Math.max(0, 3 - Math.floor(Math.log10(span))) : 3;
  return places > 8 ? written(t, 5) : t.toFixed(Math.min(places, 8));
}

/** G^2 / 2T: the moment of a sphere with the same momentum and energy. Where it passes the middle moment, the mode changes. */
function effectiveMoment(moments: Vec, omega: Vec): number {
  let [momentum2, energy2] = [0, 0];
  for (let n = 0; n < 3; n++) {
    momentum2 += (moments[n]! * omega[n]!) ** 2;
    energy2 += moments[n]! * omega[n]! ** 2;
  }
  return energy2 > 0 ? momentum2 / energy2 : Number.NaN;
}

/** The smallest turn that takes a vector to the upward direction. */
function uprightOf(v: Vec): Quat {
  const n = Math.hypot(...v);
  if (n === 0) return IDENTITY;
  const [x, y, z] = [v[0] / n, v[1] / n, v[2] / n];
  if (z < -0.999999) return [0, 1, 0, 0];
  const q: Quat = [1 + z, y, -x, 0];
  const s = 1 / Math.hypot(...q);
  return [q[0] * s, q[1] * s, q[2] * s, 0];
}
