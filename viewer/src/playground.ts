// The playground: sliders for moments and rate, presets, and a link that carries them. The motion is exact.

import { h, written } from "./dom";
import type { Vec } from "./free";

export interface Settings {
  moments: Vec;
  omega: Vec;
  /** The unit of time; rates are in radians over it. */
  unit: string;
}

interface Preset extends Settings {
  name: string;
  about: string;
  /** Sliders of the rate reach this far. */
  fastest: number;
  momentUnit: string;
}

export const PRESETS: Preset[] = [
  {
    name: "Flip",
    about: "A wing nut that turns about its intermediate axis: it flips over again and again.",
    moments: [1, 2, 2.8],
    omega: [0.01, 2, 0.01],
    unit: "s",
    fastest: 4,
    momentUnit: "kg m²",
  },
  {
    name: "Needle",
    about: "A long, thin body: it spins about its length and sweeps a cone.",
    moments: [0.06, 2, 2.02],
    omega: [3.4, 0.6, 0],
    unit: "s",
    fastest: 4,
    momentUnit: "kg m²",
  },
  {
    name: "Disc",
    about: "A thrown plate: it wobbles twice as fast as it spins.",
    moments: [1.2, 1.2, 2.4],
    omega: [0.35, 0, 2],
    unit: "s",
    fastest: 4,
    momentUnit: "kg m²",
  },
  {
    name: "Sphere",
    about: "All moments equal: every axis is as good as any other, and nothing wobbles.",
    moments: [2, 2, 2],
    omega: [0.5, 1, 1.2],
    unit: "s",
    fastest: 4,
    momentUnit: "kg m²",
  },
  {
    // moments of a homogeneous ellipsoid with the axes of Toutatis; the rates give its periods, 5.41 and 7.35 days
    name: "Toutatis",
    about: "An asteroid that tumbles: it turns about its long axis in 5.4 days while that axis goes round in 7.4 days.",
    moments: [2.692, 2.485, 0.945],
    omega: [0.2456, 0.4871, 1.8245],
    unit: "d",
    fastest: 3,
    momentUnit: "(relative)",
  },
  {
    // kg m^2 10^-47 from the bond length 95.84 pm and the angle 104.45 degrees; rates as at room temperature
    name: "Water",
    about: "A water molecule at room temperature: a flat body, so that the two lesser moments add up to the greatest.",
    moments: [1.0245, 1.9208, 2.9453],
    omega: [9, 14, 5],
    unit: "ps",
    fastest: 30,
    momentUnit: "10⁻⁴⁷ kg m²",
  },
];

const LEAST_MOMENT = 0.01;
const GREATEST_MOMENT = 3;

/** The moment nearest to the wished one that a body can have: none is more than the sum of the others. */
export function physical(moments: Vec, index: number, wished: number): number {
  const [a, b] = moments.filter((_, n) => n !== index) as [number, number];
  return Math.min(Math.max(wished, Math.abs(a - b), LEAST_MOMENT), a + b);
}

/** Settings from the part of the address after #, or null if they are no settings of a body. */
export function fromLink(hash: string): Settings | null {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const triple = (name: string): Vec | null => {
    const numbers = (fields.get(name) ?? "").split(",").map(Number);
    return numbers.length === 3 && numbers.every(Number.isFinite) ? (numbers as unknown as Vec) : null;
  };
  const [moments, omega] = [triple("I"), triple("w")];
  if (!moments || !omega) return null;
  const sum = moments[0] + moments[1] + moments[2];
  if (moments.some((I) => I <= 0 || 2 * I > sum * (1 + 1e-12))) return null;
  return { moments, omega, unit: (fields.get("u") ?? "s").slice(0, 8) };
}

export function toLink({ moments, omega, unit }: Settings): string {
  return `#I=${moments.join(",")}&w=${omega.join(",")}&u=${encodeURIComponent(unit)}`;
}

interface Row {
  slider: HTMLInputElement;
  number: HTMLInputElement;
  name: HTMLElement;
}

export class Playground {
  readonly element: HTMLElement;
  settings: Settings;
  private fastest: number;
  private momentUnit: string;
  private readonly moments: Row[];
  private readonly rates: Row[];
  private readonly units: [HTMLElement, HTMLElement];
  private readonly note = h("p", { class: "note", role: "status" });
  private readonly presets: HTMLButtonElement[];
  private readonly facts = h("dl", { class: "facts", "aria-label": "This motion" });
  private readonly onChange: () => void;

  constructor(onChange: () => void) {
    this.onChange = onChange;
    const linked = fromLink(location.hash);
    const first = PRESETS[0]!;
    this.settings = linked ?? { moments: first.moments, omega: first.omega, unit: first.unit };
    this.fastest = linked ? reach(linked.omega) : first.fastest;
    this.momentUnit = momentUnitOf(this.settings);
    this.presets = PRESETS.map((preset) => {
      const button = h("button", { type: "button" }, preset.name);
      button.addEventListener("click", () => this.choose(preset));
      return button;
    });
    this.moments = [0, 1, 2].map((n) => this.row("Moment", "I", n, (x) => this.setMoment(n, x)));
    this.rates = [0, 1, 2].map((n) => this.row("Rate", "ω", n, (x) => this.setRate(n, x)));
    this.units = [h("small", {}), h("small", {})];
    const link = h("button", { type: "button", class: "wide" }, "Copy a link to this motion");
    link.addEventListener("click", () => this.copy(link));
    this.element = h(
      "aside",
      { class: "playground", "aria-label": "Playground" },
      h("div", { class: "presets", role: "group", "aria-label": "Presets" }, ...this.presets),
      this.note,
      h("fieldset", {}, h("legend", {}, "Moments of inertia ", this.units[0]), ...this.moments.map((r) => r.name)),
      h("fieldset", {}, h("legend", {}, "Rate at the start ", this.units[1]), ...this.rates.map((r) => r.name)),
      this.facts,
      link,
    );
    this.show(linked ? "" : first.about);
    addEventListener("hashchange", () => {
      const next = fromLink(location.hash);
      if (!next || toLink(next) === toLink(this.settings)) return;
      this.settings = next;
      this.fastest = reach(next.omega);
      this.momentUnit = momentUnitOf(next);
      this.show("");
      this.onChange();
    });
  }

  /** Lists what the motion is like. */
  tell(facts: [string, string][]): void {
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  private row(kind: string, letter: string, n: number, set: (x: number) => void): Row {
    const label = `${kind} about axis ${n + 1}`;
    const slider = h("input", { type: "range", "aria-label": label, step: "any" });
    const number = h("input", { type: "number", "aria-label": `${label}, as a number`, step: "any" });
    slider.addEventListener("input", () => set(Number(slider.value)));
    slider.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: 10, PageDown: -10 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      set(Number(slider.value) + (step * (Number(slider.max) - Number(slider.min))) / 400);
    });
    number.addEventListener("change", () => {
      const x = Number(number.value);
      if (number.value !== "" && Number.isFinite(x)) set(x);
      this.show();
    });
    const name = h(
      "label",
      { class: `row axis${n + 1}` },
      h("span", {}, letter, h("sub", {}, String(n + 1))),
      slider,
      number,
    );
    return { slider, number, name };
  }

  private choose(preset: Preset): void {
    this.settings = { moments: preset.moments, omega: preset.omega, unit: preset.unit };
    this.fastest = preset.fastest;
    this.momentUnit = preset.momentUnit;
    this.changed(preset.about);
  }

  private setMoment(n: number, wished: number): void {
    const held = physical(this.settings.moments, n, Math.min(wished, 1e12));
    const moments = this.settings.moments.map((I, m) => (m === n ? held : I)) as unknown as Vec;
    this.settings = { ...this.settings, moments };
    const held2 = Math.abs(held - wished) > 1e-9 * Math.abs(wished);
    this.changed(
      held2 ? `I${n + 1} is held at ${written(held)}: no moment can be more than the sum of the others.` : "",
    );
  }

  private setRate(n: number, x: number): void {
    const omega = this.settings.omega.map((w, m) => (m === n ? Math.min(Math.max(x, -1e6), 1e6) : w)) as unknown as Vec;
    this.settings = { ...this.settings, omega };
    this.changed("");
  }

  private changed(note: string): void {
    this.show(note);
    try {
      history.replaceState(null, "", toLink(this.settings));
    } catch {
      // where a page may not change its address, the button still gives the link
    }
    this.onChange();
  }

  private async copy(button: HTMLButtonElement): Promise<void> {
    const address = location.href.replace(/#.*$/, "") + toLink(this.settings);
    try {
      await navigator.clipboard.writeText(address);
      button.textContent = "Copied";
    } catch {
      location.hash = toLink(this.settings);
      button.textContent = "It is in the address of this page";
    }
    setTimeout(() => {
      button.textContent = "Copy a link to this motion";
    }, 2000);
  }

  private show(note?: string): void {
    const { moments, omega, unit } = this.settings;
    const top = Math.max(GREATEST_MOMENT, ...moments);
    moments.forEach((I, n) => {
      fill(this.moments[n]!, LEAST_MOMENT, top, I, physical(moments, n, 0), physical(moments, n, Number.MAX_VALUE));
    });
    omega.forEach((w, n) => {
      const far = Math.max(this.fastest, Math.abs(w));
      fill(this.rates[n]!, -far, far, w, -far, far);
    });
    this.units[0].textContent = this.momentUnit;
    this.units[1].textContent = `rad/${unit}`;
    if (note !== undefined) this.note.textContent = note;
    PRESETS.forEach((p, n) => {
      const chosen = toLink(p) === toLink(this.settings);
      this.presets[n]!.setAttribute("aria-pressed", String(chosen));
    });
  }
}

/** The unit of moments that came without one: that of the preset they are, else SI with seconds, else unknown. */
const momentUnitOf = (settings: Settings): string =>
  PRESETS.find((p) => toLink(p) === toLink(settings))?.momentUnit ?? (settings.unit === "s" ? "kg m²" : "");

const reach = (omega: Vec): number => Math.max(4, 2 * Math.max(...omega.map(Math.abs)));

/** Sets a slider and its number; the part of the track that a body allows is marked. */
function fill({ slider, number }: Row, min: number, max: number, value: number, from: number, to: number): void {
  slider.min = String(min);
  slider.max = String(max);
  slider.value = String(value);
  slider.setAttribute("aria-valuetext", written(value));
  const percent = (x: number): string => `${(100 * (Math.min(Math.max(x, min), max) - min)) / (max - min)}%`;
  slider.style.setProperty("--from", percent(from));
  slider.style.setProperty("--to", percent(to));
  if (document.activeElement !== number || Number(number.value) !== value)
    number.value = String(Number(value.toPrecision(6)));
}
