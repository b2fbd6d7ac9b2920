// A motion as the page sees it: a state at any time, from rows or from the closed form.

import type { Run } from "./data";
import { type Free, freeMotion, type Quat, type Vec } from "./free";

export interface State {
  q: Quat;
  omega: Vec;
  torque: Vec | null;
}

export interface Motion {
  readonly start: number;
  readonly end: number;
  /** Mean size of the rate: what pace and trails are measured by. */
  readonly pace: number;
  at(t: number): State;
  /** The time that lies this many single steps away. */
  stepped(t: number, steps: number): number;
}

/** The index of the last entry that is at most t; -1 if all are greater. */
export function lastAtMost(times: ArrayLike<number>, t: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Rows of a run: between them the attitude turns evenly and the rate changes evenly. */
export class Rows implements Motion {
  readonly start: number;
  readonly end: number;
  readonly pace: number;
  private readonly run: Run;

  constructor(run: Run) {
    this.run = run;
    this.start = run.t[0]!;
    this.end = run.t[run.t.length - 1]!;
    let sum = 0;
    const stride = Math.max(1, Math.floor(run.t.length / 500));
    let count = 0;
    for (let n = 0; n < run.t.length; n += stride, count++) {
      sum += Math.hypot(run.omega[3 * n]!, run.omega[3 * n + 1]!, run.omega[3 * n + 2]!);
    }
    this.pace = sum / count;
  }

  at(t: number): State {
    const { t: times, q, omega, torque } = this.run;
    const last = times.length - 1;
    const n = Math.min(Math.max(lastAtMost(times, t), 0), Math.max(last - 1, 0));
    const m = Math.min(n + 1, last);
    const width = times[m]! - times[n]!;
    const f = width > 0 ? Math.min(Math.max((t - times[n]!) / width, 0), 1) : 0;
    const mix = (values: Float32Array): Vec => [
      values[3 * n]! + f * (values[3 * m]! - values[3 * n]!),
      values[3 * n + 1]! + f * (values[3 * m + 1]! - values[3 * n + 1]!),
      values[3 * n + 2]! + f * (values[3 * m + 2]! - values[3 * n + 2]!),
    ];
    return { q: slerp(q, 4 * n, 4 * m, f), omega: mix(omega), torque: torque && mix(torque) };
  }

  stepped(t: number, steps: number): number {
    const times = this.run.t;
    let n = lastAtMost(times, t) + steps;
    if (steps < 0 && times[n - steps]! < t) n += 1; // from between two rows, back to the first of them
    return times[Math.min(Math.max(n, 0), times.length - 1)]!;
  }
}

/** The attitude a fraction f of the way from one row to another. */
function slerp(q: Float32Array, a: number, b: number, f: number): Quat {
  const [w, x, y, z] = [q[a]!, q[a + 1]!, q[a + 2]!, q[a + 3]!];
  const dot = w * q[b]! + x * q[b + 1]! + y * q[b + 2]! + z * q[b + 3]!;
  const side = dot < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(Math.abs(dot), 1));
  const sine = Math.sin(angle);
  const [p, r] =
    sine > 1e-6 ? [Math.sin((1 - f) * angle) / sine, (side * Math.sin(f * angle)) / sine] : [1 - f, side * f];
  const s: Quat = [p * w + r * q[b]!, p * x + r * q[b + 1]!, p * y + r * q[b + 2]!, p * z + r * q[b + 3]!];
  const n = 1 / Math.hypot(...s);
  return [s[0] * n, s[1] * n, s[2] * n, s[3] * n];
}

/** The exact free motion. Time has no end: start and end are those of the stretch that is shown. */
export class Exact implements Motion {
  readonly free: Free;
  readonly pace: number;
  readonly span: number;
  start = 0;
  end: number;

  constructor(moments: Vec, omega: Vec) {
    this.free = freeMotion(moments, omega);
    this.pace = Math.hypot(...omega);
    const turn = this.pace > 0 ? (2 * Math.PI) / this.pace : 1;
    const wanted = Number.isFinite(this.free.period) && this.free.mode !== "steady" ? 3 * this.free.period : 12 * turn;
    this.span = rounded(Math.min(Math.max(wanted, 6 * turn), 60 * turn));
    this.end = this.span;
  }

  /** Moves the stretch that is shown to where t lies. */
  show(t: number): boolean {
    const first = Math.floor(t / this.span) * this.span;
    if (first === this.start) return false;
    this.start = first;
    this.end = first + this.span;
    return true;
  }

  at(t: number): State {
    return { ...this.free.at(t), torque: null };
  }

  stepped(t: number, steps: number): number {
    return t + (steps * this.span) / 500;
  }
}

/** The nearest number above x of the form 1, 2, 3 or 5 times a power of ten. */
export function rounded(x: number): number {
  const power = 10 ** Math.floor(Math.log10(x));
  return (([1, 2, 3, 5, 10] as const).find((d) => d * power >= x * (1 - 1e-12)) ?? 10) * power;
}
