// What Python hands to the page: JSON whose arrays are base64 of little-endian numbers. This file is the source of truth.

import type { Quat, Vec } from "./free";

/** Base64 of little-endian float32, float64 or uint32. */
type Base64 = string;

/** What a curve is called. */
interface CurveHead {
  key: string;
  title: string;
  unit: string;
  log: boolean;
  labels: string[];
}

interface EncodedCurve extends CurveHead {
  /** Null: the times of the run. */
  t: Base64 | null;
  /** Null: the three columns of the run's rates. */
  values: Base64[] | null;
}

/** What is known of a run besides its rows and its shape. */
export interface About {
  name: string;
  /** Lines of plain text: scenario, method, step, stated error. */
  caption: string[];
  /** Principal moments, in the order of the principal axes. */
  moments: Vec;
  /** Turns principal axes into body axes. */
  principal: Quat;
  /** Momentum of the rotor about the body axes. */
  rotor: Vec | null;
  /** No torque and no rotor: Poinsot's construction is exact. */
  free: boolean;
  /** Turns space into the space that is shown, with the first angular momentum upright. */
  upright: Quat;
  units: Record<string, string>;
  /** Body points whose trails are drawn, in units of the largest half edge. */
  points: Vec[];
  events: RunEvent[];
}

interface EncodedRun extends About {
  t: Base64;
  q: Base64;
  omega: Base64;
  torque: Base64 | null;
  mesh: { positions: Base64; indices: Base64 } | null;
  curves: EncodedCurve[];
}

interface EncodedDifference {
  a: number;
  b: number;
  t: Base64;
  degrees: Base64;
}

export interface EncodedPage {
  version: number;
  title: string;
  playground?: boolean;
  runs: EncodedRun[];
  differences?: EncodedDifference[];
}

export interface RunEvent {
  name: string;
  t: number[];
}

export interface Curve extends CurveHead {
  t: Float64Array;
  values: Float32Array[];
}

export interface Shape {
  positions: Float32Array;
  indices: Uint32Array;
}

export interface Run extends About {
  t: Float64Array;
  q: Float32Array;
  omega: Float32Array;
  torque: Float32Array | null;
  mesh: Shape | null;
  curves: Curve[];
}

/** The difference of two attitudes in degrees. */
export interface Difference {
  a: number;
  b: number;
  t: Float64Array;
  degrees: Float32Array;
}

export interface Page {
  title: string;
  playground: boolean;
  runs: Run[];
  differences: Difference[];
}

const VERSION = 1;

function bytes(text: Base64): ArrayBuffer {
  const raw = atob(text);
  const buffer = new Uint8Array(raw.length);
  for (let n = 0; n < raw.length; n++) buffer[n] = raw.charCodeAt(n);
  return buffer.buffer;
}

const float32 = (text: Base64): Float32Array => new Float32Array(bytes(text));
const float64 = (text: Base64): Float64Array => new Float64Array(bytes(text));

/** The three columns of rows of three numbers. */
const columns = (rows: Float32Array): Float32Array[] =>
  [0, 1, 2].map((n) => Float32Array.from({ length: rows.length / 3 }, (_, row) => rows[3 * row + n]!));

function decodeRun(run: EncodedRun): Run {
  const [t, omega] = [float64(run.t), float32(run.omega)];
  const decoded: Run = {
    ...run,
    t,
    q: float32(run.q),
    omega,
    torque: run.torque === null ? null : float32(run.torque),
    mesh: run.mesh && {
      positions: float32(run.mesh.positions),
      indices: new Uint32Array(bytes(run.mesh.indices)),
    },
    curves: run.curves.map((c) => ({
      ...c,
      t: c.t === null ? t : float64(c.t),
      values: c.values === null ? columns(omega) : c.values.map(float32),
    })),
  };
  const rows = decoded.t.length;
  if (rows === 0 || decoded.q.length !== 4 * rows || decoded.omega.length !== 3 * rows) {
    throw new Error(
      `the run "${run.name}" has ${rows} times, ${decoded.q.length} numbers in q and ${decoded.omega.length} in omega`,
    );
  }
  return decoded;
}

/** Reads the page's data from JSON, or throws an error that says what is wrong with it. */
export function decode(text: string): Page {
  const page = JSON.parse(text) as EncodedPage;
  if (page.version !== VERSION) throw new Error(`data of version ${page.version}; this page reads version ${VERSION}`);
  return {
    title: page.title,
    playground: page.playground ?? false,
    runs: page.runs.map(decodeRun),
    differences: (page.differences ?? []).map((d) => ({ ...d, t: float64(d.t), degrees: float32(d.degrees) })),
  };
}
