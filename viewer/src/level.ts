// Curves of constant energy on the sphere of constant momentum: what the momentum does, seen from the body.

import type { Vec } from "./free";

/** How the axes are called: `least`, `middle` and `greatest` are their indices. */
interface Ordered {
  least: number;
  middle: number;
  greatest: number;
}

function ordered(moments: Vec): Ordered {
  const [least, middle, greatest] = [0, 1, 2].sort((a, b) => moments[a]! - moments[b]!) as [number, number, number];
  return { least, middle, greatest };
}

/** The angle of the separatrix from the axis of the greatest moment, in the plane across the intermediate axis. */
function separatrixAngle(moments: Vec): number {
  const { least, middle, greatest } = ordered(moments);
  const [I1, I2, I3] = [moments[least]!, moments[middle]!, moments[greatest]!];
  return Math.atan2(Math.sqrt(I1 * (I3 - I2)), Math.sqrt(I3 * (I2 - I1)));
}

/** The closed curve through a unit vector m, as points of the unit sphere; empty where the momentum stays. */
export function levelCurve(moments: Vec, m: Vec, count = 128): Vec[] {
  const { least, middle, greatest } = ordered(moments);
  const weight3 = Math.abs(m[greatest]!) * Math.sqrt(moments[least]! * (moments[greatest]! - moments[middle]!));
  const weight1 = Math.abs(m[least]!) * Math.sqrt(moments[greatest]! * (moments[middle]! - moments[least]!));
  if (weight1 === 0 && weight3 === 0) return [];
  const [i, k] = weight3 >= weight1 ? [least, greatest] : [greatest, least];
  const [I1, I2, I3] = [moments[i]!, moments[middle]!, moments[k]!];
  const ratio = Math.sqrt((I1 * (I3 - I2)) / (I2 * (I3 - I1)));
  const A = Math.hypot(m[i]!, m[middle]! * ratio);
  const B = A / ratio;
  const side = m[k]! < 0 ? -1 : 1;
  const points: Vec[] = [];
  for (let n = 0; n <= count; n++) {
    const angle = (2 * Math.PI * n) / count;
    const point = [0, 0, 0];
    point[i] = A * Math.cos(angle);
    point[middle] = B * Math.sin(angle);
    point[k] = side * Math.sqrt(Math.max(0, 1 - point[i] ** 2 - point[middle] ** 2));
    points.push(point as unknown as Vec);
  }
  return points;
}

/** The two great circles on which the intermediate axis is left and reached again; none for symmetric bodies. */
export function separatrices(moments: Vec, count = 72): Vec[][] {
  const { least, middle, greatest } = ordered(moments);
  if (moments[least] === moments[middle] || moments[middle] === moments[greatest]) return [];
  const angle = separatrixAngle(moments);
  return [1, -1].map((side) => {
    const circle: Vec[] = [];
    for (let n = 0; n <= count; n++) {
      const turn = (2 * Math.PI * n) / count;
      const point = [0, 0, 0];
      point[middle] = Math.cos(turn);
      point[greatest] = Math.sin(turn) * Math.cos(angle);
      point[least] = side * Math.sin(turn) * Math.sin(angle);
      circle.push(point as unknown as Vec);
    }
    return circle;
  });
}

/** Level curves around the four stable ends of the axes, for orientation. */
export function levelCurves(moments: Vec, each = 4): Vec[][] {
  const { least, greatest } = ordered(moments);
  if (moments[least] === moments[greatest]) return [];
  const angle = separatrixAngle(moments);
  const curves: Vec[][] = [];
  for (let n = 1; n <= each; n++) {
    const f = n / (each + 1);
    for (const [from, to, width] of [
      [greatest, least, angle],
      [least, greatest, Math.PI / 2 - angle],
    ] as const) {
      if (width < 1e-9) continue;
      for (const side of [1, -1]) {
        const point = [0, 0, 0];
        point[from] = side * Math.cos(f * width);
        point[to] = Math.sin(f * width);
        const curve = levelCurve(moments, point as unknown as Vec, 96);
        if (curve.length > 0) curves.push(curve);
      }
    }
  }
  return curves;
}
