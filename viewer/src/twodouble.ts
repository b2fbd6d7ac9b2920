// Two-double arithmetic: a number as the unevaluated sum of two floats, about 32 digits. Sums and products follow
// Dekker (1971) and Knuth. It serves for constants that are computed once and then multiplied by long times.

export type Two = readonly [high: number, low: number];

export const PI: Two = [Math.PI, 1.2246467991473532e-16];
export const HALF_PI: Two = [Math.PI / 2, 6.123233995736766e-17];
export const FOUR_PI: Two = [4 * Math.PI, 4.898587196589413e-16];
export const ZERO: Two = [0, 0];
export const ONE: Two = [1, 0];

/** a + b exactly. */
export function sum(a: number, b: number): Two {
  const s = a + b;
  const v = s - a;
  return [s, a - (s - v) + (b - v)];
}

/** a + b exactly, if |a| >= |b|. */
function quickSum(a: number, b: number): Two {
  const s = a + b;
  return [s, b - (s - a)];
}

/** a b exactly, by Veltkamp's splitting. */
export function product(a: number, b: number): Two {
  const p = a * b;
  const [wide, broad] = [a * 134217729, b * 134217729];
  const [a1, b1] = [wide - (wide - a), broad - (broad - b)];
  const a2 = a - a1;
  const b2 = b - b1;
  return [p, a1 * b1 - p + a1 * b2 + a2 * b1 + a2 * b2];
}

export const single = (a: number): Two => [a, 0];
export const negative = (a: Two): Two => [-a[0], -a[1]];

/** a times a power of two, exactly. */
export const scaled = (a: Two, power: number): Two => [a[0] * power, a[1] * power];

export function add(a: Two, b: Two): Two {
  const [s, e] = sum(a[0], b[0]);
  const [t, f] = sum(a[1], b[1]);
  const [u, g] = quickSum(s, e + t);
  return quickSum(u, g + f);
}

export const subtract = (a: Two, b: Two): Two => add(a, negative(b));

export function multiply(a: Two, b: Two): Two {
  const [p, e] = product(a[0], b[0]);
  return quickSum(p, e + (a[0] * b[1] + a[1] * b[0]));
}

export function divide(a: Two, b: Two): Two {
  const q = a[0] / b[0];
  const [p, e] = product(q, b[0]);
  return quickSum(q, (a[0] - p - e + (a[1] - q * b[1])) / b[0]);
}

/** The square root of a; zero if a is not positive. */
export function root(a: Two): Two {
  if (a[0] <= 0) return ZERO;
  const s = Math.sqrt(a[0]);
  const [p, e] = product(s, s);
  return quickSum(s, (a[0] - p - e + a[1]) / (2 * s));
}

/** sqrt(a^2 + b^2), without overflow or underflow on the way. */
export function hypotenuse(a: Two, b: Two): Two {
  const largest = single(Math.max(Math.abs(a[0]), Math.abs(b[0])));
  if (largest[0] === 0) return ZERO;
  const x = divide(a, largest);
  const y = divide(b, largest);
  return multiply(root(add(multiply(x, x), multiply(y, y))), largest);
}

/** The arithmetic-geometric mean of two positive numbers. */
export function mean(a: Two, b: Two): Two {
  let [x, y] = [a, b];
  for (let pass = 0; pass < 60; pass++) {
    if (Math.abs(x[0] - y[0]) <= 1e-15 * x[0]) break;
    [x, y] = [scaled(add(x, y), 0.5), root(multiply(x, y))];
  }
  return scaled(add(x, y), 0.5);
}
