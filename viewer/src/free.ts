// The free rigid body in closed form: constants once for each motion, then the state at any time at one price.
//
// The axes are relabelled, by a proper rotation, so that the momentum y circles axis 3 with y3 > 0. Then
//
//     y = (A cn u, B sn u, C dn u),  u = u0 + s lam t,  s = 1 if I3 is the greatest moment, -1 if it is the least,
//
// and the attitude is R(t) = R(0) P(y(0))^T Rz(chi) P(y(t)): P(y) is the smallest rotation that takes y to axis 3, and chi
// is linear in time plus the argument of a theta function. The formulas are those of docs/free_motion.md. Series run in
// the nome q or, towards the separatrix, in the nome q' of the complementary modulus, where they are hyperbolic. Only
// two numbers are multiplied by the time, and these are two-doubles: errors do not grow.

import type { Two } from "./twodouble";
import * as two from "./twodouble";

export type Vec = readonly [number, number, number];
/** A quaternion, the scalar first. */
export type Quat = readonly [number, number, number, number];

export interface FreeState {
  /** Turns body axes into space axes; the identity at t = 0. */
  q: Quat;
  /** Rate about the body axes. */
  omega: Vec;
}

/** A function of time, and what the motion is like. */
export interface Free {
  at(t: number): FreeState;
  /** The time after which the rate repeats in the body: infinite if it does not, or if it is constant. */
  period: number;
  mode: "short-axis" | "long-axis" | "separatrix" | "steady";
  modulus: number;
  /** The intermediate component of the momentum changes its sign at `first` and at all times `every` from it. */
  flips: { first: number; every: number } | null;
}

/** Direct series up to this nome: what they leave out is below 1e-17. Beyond, the dual nome is below 0.02. */
const LARGEST_NOME = 0.08;
/** A relative distance from the separatrix that two-doubles cannot tell from zero. */
const ON_SEPARATRIX = 2 ** -100;

export function multiply(a: Quat, b: Quat): Quat {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

export function normalized(q: Quat): Quat {
  const r = 1 / Math.hypot(q[0], q[1], q[2], q[3]);
  return [q[0] * r, q[1] * r, q[2] * r, q[3] * r];
}

// --- elliptic integrals ---------------------------------------------------------------------------------------------

/** K = pi / (2 agm(1, k')). */
const quarterPeriod = (complement: Two): Two => two.divide(two.HALF_PI, two.mean(two.ONE, complement));

/** Bulirsch's cel: the integral of (a cos^2 + b sin^2) / (cos^2 + p sin^2) / sqrt(cos^2 + k'^2 sin^2) to pi/2. */
function completeIntegral(complement: Two, p: Two, a: Two, b: Two): Two {
  let [kc, e, m] = [complement, complement, two.ONE];
  p = two.root(p);
  b = two.divide(b, p);
  for (let pass = 0; pass < 60; pass++) {
    const f = a;
    let g = two.divide(e, p);
    a = two.add(a, two.divide(b, p));
    b = two.scaled(two.add(b, two.multiply(f, g)), 2);
    p = two.add(p, g);
    g = m;
    m = two.add(m, kc);
    if (Math.abs(g[0] - kc[0]) <= 1e-15 * g[0]) break;
    kc = two.scaled(two.root(e), 2);
    e = two.multiply(kc, m);
  }
  return two.multiply(two.HALF_PI, two.divide(two.add(two.multiply(a, m), b), two.multiply(m, two.add(m, p))));
}

/** Carlson's R_F, by duplication and its series: DLMF 19.36(i). */
function carlson(x: number, y: number, z: number): number {
  let a = (x + y + z) / 3;
  for (let pass = 0; pass < 600; pass++) {
    a = (x + y + z) / 3;
    if (Math.max(Math.abs(x - a), Math.abs(y - a), Math.abs(z - a)) < 0.004 * a) break;
    const [rx, ry, rz] = [Math.sqrt(x), Math.sqrt(y), Math.sqrt(z)];
    const lam = rx * ry + ry * rz + rz * rx;
    x = (x + lam) / 4;
    y = (y + lam) / 4;
    z = (z + lam) / 4;
  }
  const dx = 1 - x / a;
  const dy = 1 - y / a;
  const dz = -(dx + dy);
  const e2 = dx * dy - dz * dz;
  const e3 = dx * dy * dz;
  return (1 - e2 / 10 + e3 / 14 + (e2 * e2) / 24 - (3 / 44) * e2 * e3) / Math.sqrt(a);
}

/** F(phi | k'^2) for a given tan phi, computed from k. */
function fromTangent(tangent: number, k: number): number {
  const t = Math.min(tangent, 1e150);
  return t * carlson(1, 1 + (k * t) ** 2, 1 + t * t);
}

// --- small pieces ---------------------------------------------------------------------------------------------------

/** The indices of three numbers in ascending order. */
function ascending(x: Vec): [number, number, number] {
  return [0, 1, 2].sort((a, b) => x[a]! - x[b]! || a - b) as [number, number, number];
}

/** Splits t (high + low) into an integer and a fraction. */
function turns(t: number, rate: Two): [number, number] {
  const [x, e] = two.product(t, rate[0]);
  const n = Math.round(x);
  return [n, x - n + (e + t * rate[1])];
}

const parity = (n: number): number => (n % 2 === 0 ? 1 : -1);
const signOf = (x: number): number => (x < 0 || Object.is(x, -0) ? -1 : 1);

type Complex = readonly [number, number];

/** exp(2 pi i turns) start conj(now), up to a common sign. */
function phasor(turned: number, start: Complex, now: Complex): Complex {
  const angle = 2 * Math.PI * (turned - Math.round(turned));
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const re = now[0] * start[0] + now[1] * start[1];
  const im = now[0] * start[1] - now[1] * start[0];
  return [c * re - s * im, s * re + c * im];
}

/** The sum of q^(n(n+1)/2) cosh((2n+1)(zeta + i eta)) times 2 exp(-zeta), for E = exp(-2 zeta): the dual third kind. */
function dualThirdKind(eta: number, q: number, E: number, side: number): Complex {
  const X = q / Math.max(E, 1e-200);
  let [re, im, factor, power, e] = [0, 0, 1, X, E];
  for (let n = 0; n < 6; n++) {
    re += factor * (1 + e) * Math.cos((2 * n + 1) * eta);
    im += factor * (1 - e) * Math.sin((2 * n + 1) * eta);
    factor *= power;
    power *= q;
    e *= E * E;
  }
  return [re, side * im];
}

// --- the motion -----------------------------------------------------------------------------------------------------

/** Returns the motion of a body with these principal moments, which starts with this rate. */
export function freeMotion(moments: Vec, omega: Vec): Free {
  const size = Math.max(...moments);
  const speed = Math.max(...omega.map(Math.abs));
  if (speed === 0) return steady(omega, 1);
  // powers of two change no digits
  const unit = 2 ** Math.ceil(Math.log2(size));
  const pace = 2 ** Math.ceil(Math.log2(speed));
  const inertia: Vec = [moments[0] / unit, moments[1] / unit, moments[2] / unit];
  const rate: Vec = [omega[0] / pace, omega[1] / pace, omega[2] / pace];

  const y = [0, 1, 2].map((n) => two.product(inertia[n]!, rate[n]!));
  let [i, , k] = ascending(inertia);
  const j = ascending(inertia)[1];
  // The momentum circles the axis with the greater of |y3| sqrt(I1 (I3 - I2)) and |y1| sqrt(I3 (I2 - I1)).
  const circling = (m: Two, moment: number, difference: Two): Two =>
    two.multiply(two.scaled(m, signOf(m[0])), two.root(two.multiply(two.single(moment), difference)));
  const greatest = circling(y[k]!, inertia[i]!, two.sum(inertia[k]!, -inertia[j]!));
  const least = circling(y[i]!, inertia[k]!, two.sum(inertia[j]!, -inertia[i]!));
  if (greatest[0] === 0 && least[0] === 0) return steady(omega, pace);
  let distance = two.subtract(greatest, least);
  const total = two.add(greatest, least);
  let sense = 1;
  if (distance[0] < 0) {
    [i, k, sense, distance] = [k, i, -1, two.negative(distance)];
  }
  if (distance[0] < ON_SEPARATRIX * total[0]) distance = two.ZERO;

  const sign1 = signOf(y[i]![0]);
  const sign3 = signOf(y[k]![0]);
  const sign2 = ((j - i + 3) % 3 === 1 ? 1 : -1) * sign1 * sign3;
  const [y1, y2, y3] = [two.scaled(y[i]!, sign1), two.scaled(y[j]!, sign2), two.scaled(y[k]!, sign3)];
  const [I1, I2, I3] = [two.single(inertia[i]!), two.single(inertia[j]!), two.single(inertia[k]!)];
  const gap = (a: Two, b: Two): Two => two.scaled(two.sum(a[0], -b[0]), sense);
  const [d31, d32, d21] = [gap(I3, I1), gap(I3, I2), gap(I2, I1)];

  const flatness = two.root(two.multiply(two.divide(I1, I2), two.divide(d32, d31))); // A / B
  const A = two.hypotenuse(y1, two.multiply(flatness, y2));
  const B = two.divide(A, flatness);
  const C = two.hypotenuse(y3, two.multiply(y2, two.root(two.multiply(two.divide(I3, I2), two.divide(d21, d31)))));
  const G = two.hypotenuse(two.hypotenuse(y1, y2), y3);
  const kappa = two.root(two.multiply(two.divide(I3, I1), two.divide(d21, d32)));
  const modulus = two.divide(two.multiply(kappa, A), C);
  const complement = two.divide(
    two.multiply(two.root(distance), two.root(total)),
    two.multiply(C, two.root(two.multiply(I1, d32))),
  );
  const lam = two.multiply(
    two.divide(C, I3),
    two.multiply(two.root(two.divide(d32, I1)), two.root(two.divide(d31, I2))),
  );
  const [sn, cn, dn] = A[0] > 0 ? [y2[0] / B[0], y1[0] / A[0], y3[0] / C[0]] : [0, 1, y3[0] / C[0]];

  const periodic = complement[0] > 0;
  const K = periodic ? quarterPeriod(complement) : two.ZERO;
  const dualK = modulus[0] > 0 ? quarterPeriod(modulus)[0] : 0;
  let [halves, chi]: [Two, Two] = [two.ZERO, two.ZERO]; // half periods in a unit of time; the growth of chi in each
  let u0: number;
  if (periodic) {
    u0 = phase(sn, cn, dn, complement[0], K[0]);
    halves = two.divide(two.scaled(lam, sense), two.scaled(K, 2));
    const inverse = two.divide(two.ONE, two.multiply(flatness, flatness));
    const third = completeIntegral(complement, inverse, two.ONE, two.divide(d31, d32));
    const turn = two.multiply(two.divide(two.scaled(G, 2), two.multiply(lam, I1)), third);
    chi = two.add(turn, two.scaled(two.PI, -sense));
  } else {
    const t = Math.abs(sn) / cn;
    u0 = signOf(sn) * (t < 1 ? Math.asinh(t) : Math.log1p(Math.abs(sn)) - Math.log(cn));
  }

  const g = G[0];
  const [a1, a2, a3] = [A[0] / g, B[0] / g, C[0] / g];
  const nome = periodic && dualK > 0 ? Math.exp((-Math.PI * dualK) / K[0]) : 0;
  let series: (t: number) => { z: Complex; y: Vec };
  if (periodic && nome <= LARGEST_NOME) {
    const turning = two.multiply(two.divide(chi, two.FOUR_PI), two.scaled(halves, sense));
    const [plus, minus] = nome > 0 ? nomesOfThirdKind(kappa[0], modulus[0], K[0], dualK) : [0, 0];
    series = direct(nome, plus, minus, u0 / (2 * K[0]), halves, turning, [a1, a2, a3]);
  } else {
    const q = periodic ? Math.exp((-Math.PI * K[0]) / dualK) : 0;
    const eta = (0.25 * Math.PI * fromTangent(1 / kappa[0], modulus[0])) / dualK;
    let [jump, turning]: [number, Two] = [0, two.ZERO];
    if (periodic) {
      const [re, im] = dualThirdKind(eta, q, Math.sqrt(q), 1);
      jump = Math.atan2(im, re) / Math.PI;
      turning = two.multiply(two.add(two.divide(two.scaled(chi, sense), two.FOUR_PI), two.single(jump)), halves);
    } else {
      const over = (m: Two, I: Two): Two => two.multiply(m, two.divide(m, I));
      const energy = two.add(over(y1, I1), two.add(over(y2, I2), over(y3, I3)));
      turning = two.divide(two.divide(energy, G), two.FOUR_PI);
    }
    series = dual(q, eta, jump, u0, K[0], dualK, sense * lam[0], halves, turning, [a1, a2, a3]);
  }

  const [b1, b2, b3] = [y1[0] / g, y2[0] / g, y3[0] / g];
  const before: Quat = [1 + b3, -b2, b1, 0]; // conj(p(y0)), with p(y) = (1 + y3, y2, -y1, 0)
  const place = (x: number, yy: number, z: number): Vec => {
    const v = [0, 0, 0];
    v[i] = sign1 * x;
    v[j] = sign2 * yy;
    v[k] = sign3 * z;
    return v as unknown as Vec;
  };
  return {
    at(t: number): FreeState {
      const { z, y } = series(t * pace);
      const top = 1 + y[2];
      const now: Quat = [z[0] * top, z[1] * y[0] + z[0] * y[1], z[1] * y[1] - z[0] * y[0], z[1] * top];
      const turn = normalized(multiply(before, now));
      const f = pace * g;
      return {
        q: [turn[0], ...place(turn[1], turn[2], turn[3])],
        omega: place((f * y[0]) / I1[0], (f * y[1]) / I2[0], (f * y[2]) / I3[0]),
      };
    },
    period: periodic ? (4 * K[0]) / (lam[0] * pace) : Number.POSITIVE_INFINITY,
    mode: !periodic ? "separatrix" : A[0] === 0 ? "steady" : sense > 0 ? "short-axis" : "long-axis",
    modulus: modulus[0],
    flips:
      periodic && A[0] > 0 ? { first: -u0 / (sense * lam[0] * pace), every: Math.abs(1 / (halves[0] * pace)) } : null,
  };
}

/** Rest, spheres, the intermediate axis, a symmetric body's equator: the rate stays as it is. */
function steady(omega: Vec, pace: number): Free {
  const w = omega.map((x) => two.single(x / pace)) as [Two, Two, Two];
  const norm = two.hypotenuse(two.hypotenuse(w[0], w[1]), w[2]);
  const rate = two.divide(norm, two.FOUR_PI); // half turns
  const axis = w.map((x) => (norm[0] > 0 ? x[0] / norm[0] : 0)) as [number, number, number];
  return {
    at(t: number): FreeState {
      const angle = 2 * Math.PI * turns(t * pace, rate)[1];
      const s = Math.sin(angle);
      return { q: [Math.cos(angle), s * axis[0], s * axis[1], s * axis[2]], omega };
    },
    period: Number.POSITIVE_INFINITY,
    mode: "steady",
    modulus: 0,
    flips: null,
  };
}

/** Returns u with the given sn, cn, dn, measured from 0 or from K, whichever is nearer. */
function phase(sn: number, cn: number, dn: number, kc: number, K: number): number {
  const cnFromK = (kc * Math.abs(sn)) / dn;
  if (cn >= cnFromK) return sn * carlson(cn * cn, dn * dn, 1);
  const snFromK = cn / dn;
  return signOf(sn) * (K - snFromK * carlson(cnFromK * cnFromK, (kc / dn) ** 2, 1));
}

/** exp(-pi (2K' - b) / K) and exp(-pi (2K' + b) / K), from b or from K' - b, whichever is smaller. */
function nomesOfThirdKind(kappa: number, k: number, K: number, dualK: number): [number, number] {
  const b = fromTangent(1 / kappa, k);
  const rest = fromTangent(kappa / k, k);
  const power = (x: number): number => Math.exp((-Math.PI * x) / K);
  return b < rest ? [power(2 * dualK - b), power(2 * dualK + b)] : [power(dualK + rest), power(3 * dualK - rest)];
}

/** The direct series, in the nome q: y over its norm, and cos and sin of chi / 2 up to a factor. */
function direct(q: number, plus: number, minus: number, v0: number, halves: Two, turning: Two, amplitude: Vec) {
  const theta2 = 1 + q ** 2 + q ** 6 + q ** 12; // over 2 q^(1/4)
  const theta3 = 1 + 2 * (q + q ** 4 + q ** 9);
  const theta4 = 1 - 2 * (q - q ** 4 + q ** 9);
  const scale: Vec = [
    (amplitude[0] * theta4) / theta2,
    (amplitude[1] * theta3) / theta2,
    (amplitude[2] * theta4) / theta3,
  ];
  /** theta4(pi v + i beta, q^2), whose argument is the periodic part of chi / 2. */
  const thirdKind = (angle: number): Complex => {
    let [re, im] = [1, 0];
    let [a, b, factor] = [plus, minus, -1];
    for (let n = 1; n <= 3; n++) {
      const power = q ** (2 * n * (n - 1)); // q^(2 n^2) exp(2 n beta) = plus^n q^(2 n (n - 1))
      re += factor * power * (a + b) * Math.cos(2 * n * angle);
      im -= factor * power * (a - b) * Math.sin(2 * n * angle);
      a *= plus;
      b *= minus;
      factor = -factor;
    }
    return [re, im];
  };
  const start = thirdKind(Math.PI * v0);
  return (t: number): { z: Complex; y: Vec } => {
    const [n, f] = turns(t, halves);
    const v = f + v0;
    const m = Math.round(v);
    const x = Math.PI * (v - m);
    const flip = parity(n + m);
    let [t1, t2, t3, t4] = [0, 0, 1, 1];
    for (let r = 0; r < 4; r++) {
      const p = q ** (r * (r + 1));
      t1 += (r % 2 ? -p : p) * Math.sin((2 * r + 1) * x);
      t2 += p * Math.cos((2 * r + 1) * x);
      if (r > 0) {
        const c = 2 * q ** (r * r) * Math.cos(2 * r * x);
        t3 += c;
        t4 += r % 2 ? -c : c;
      }
    }
    return {
      y: [(flip * scale[0] * t2) / t4, (flip * scale[1] * t1) / t4, (scale[2] * t3) / t4],
      z: phasor(turns(t, turning)[1], start, thirdKind(x)),
    };
  };
}

/** The dual series, in the complementary nome q', which is zero on the separatrix. */
function dual(
  q: number,
  eta: number,
  jump: number,
  u0: number,
  K: number,
  dualK: number,
  speed: number,
  halves: Two,
  turning: Two,
  amplitude: Vec,
) {
  const theta2 = 1 + q ** 2 + q ** 6 + q ** 12;
  const theta3 = 1 + 2 * (q + q ** 4 + q ** 9 + q ** 16);
  const theta4 = 1 - 2 * (q - q ** 4 + q ** 9 - q ** 16);
  const scale: Vec = [
    (2 * amplitude[0] * theta2) / theta4,
    (amplitude[1] * theta3) / theta4,
    (2 * amplitude[2] * theta2) / theta3,
  ];
  const decay = (0.5 * Math.PI) / dualK;
  const start = dualThirdKind(eta, q, Math.exp(-decay * Math.abs(u0)), signOf(u0));
  return (t: number): { z: Complex; y: Vec } => {
    let [n, u] = [0, u0 + t * speed];
    if (K > 0) {
      const [whole, f] = turns(t, halves);
      const m = Math.round(f + (0.5 * u0) / K);
      n = whole + m;
      u = u0 + (f - m) * 2 * K;
    }
    const flip = parity(n);
    const side = signOf(u);
    const E = Math.exp(-decay * Math.abs(u));
    const small = Math.max(E, 1e-200);
    // theta functions over exp(decay |u|) or 1: sums over r of q^(r(r+1)) (E^-2r +- E^(2r+2)) and q^(r^2) (E^-2r + E^2r)
    let [t1, t2, t3, t4] = [0, 0, 1, 1];
    let [grow, shrink] = [1, E * E]; // q^(r(r+1)) E^-2r and E^(2r + 2) / E^-2r
    for (let r = 0; r < 4; r++) {
      t2 += grow * (1 + shrink);
      t1 += (r % 2 ? -grow : grow) * (1 - shrink);
      grow *= (q / small / small) * q ** (2 * r + 1);
      shrink *= E ** 4;
    }
    let [far, near] = [q / small / small, q * E * E]; // q^(r^2) E^-2r and q^(r^2) E^2r
    for (let r = 1; r < 5; r++) {
      t3 += far + near;
      t4 += (r % 2 ? -1 : 1) * (far + near);
      const next = q ** (2 * r + 1);
      far *= next / small / small;
      near *= next * E * E;
    }
    const decayed = E / t2;
    const y: Vec = [flip * scale[0] * t4 * decayed, (flip * side * scale[1] * t1) / t2, scale[2] * t3 * decayed];
    const turned = turns(t, turning)[1] - turns(n, two.single(jump))[1];
    return { z: phasor(turned, start, dualThirdKind(eta, q, E, side)), y };
  };
}
