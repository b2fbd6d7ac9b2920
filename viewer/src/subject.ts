// A run as it is shown: its motion, turned so that the first angular momentum stands upright, with what follows from it.

import { Matrix3, Quaternion, Vector3 } from "three";
import type { About, Shape } from "./data";
import type { Quat, Vec } from "./free";
import type { Motion } from "./motion";

/** What is drawn at one time, in the space that is shown unless it says otherwise. */
export interface Sight {
  attitude: Quaternion;
  rate: Vector3;
  momentum: Vector3;
  torque: Vector3 | null;
  /** I w about the principal axes, without the rotor. */
  spin: Vector3;
  /** w about the principal axes. */
  principalRate: Vector3;
  /** w . I w, twice the kinetic energy. */
  energy2: number;
}

export const toThree = (q: Quat): Quaternion => new Quaternion(q[1], q[2], q[3], q[0]);

/** The half edges of a homogeneous box with these moments, the largest of them 1. */
export function halfEdges(moments: Vec): Vec {
  const sum = moments[0] + moments[1] + moments[2];
  const edges = moments.map((I) => Math.sqrt(Math.max(sum - 2 * I, 0)));
  const largest = Math.max(...edges);
  return edges.map((d) => Math.max(d / largest, 0.012)) as unknown as Vec;
}

/** A run of a file, or what the playground says of its motion. */
type Described = About & { mesh: Shape | null };

export class Subject {
  readonly about: Described;
  readonly motion: Motion;
  readonly upright: Quaternion;
  readonly principal: Quaternion;
  /** The greatest rate, momentum and torque of the run, by which arrows are scaled. */
  readonly largest: { rate: number; momentum: number; torque: number };
  /** The size of the angular momentum at the start. */
  readonly momentum0: number;
  private readonly toPrincipal: Matrix3;
  private readonly toBody: Matrix3;

  constructor(about: Described, motion: Motion) {
    this.about = about;
    this.motion = motion;
    this.upright = toThree(about.upright).normalize();
    this.principal = toThree(about.principal).normalize();
    const axes = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)].map((e) =>
      e.applyQuaternion(this.principal),
    ) as [Vector3, Vector3, Vector3];
    const [a, b, c] = axes;
    this.toBody = new Matrix3().set(a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z);
    this.toPrincipal = this.toBody.clone().transpose();
    this.largest = { rate: 0, momentum: 0, torque: 0 };
    for (let n = 0; n <= 200; n++) {
      const sight = this.at(motion.start + ((motion.end - motion.start) * n) / 200);
      this.largest.rate = Math.max(this.largest.rate, sight.rate.length());
      this.largest.momentum = Math.max(this.largest.momentum, sight.momentum.length());
      this.largest.torque = Math.max(this.largest.torque, sight.torque?.length() ?? 0);
    }
    this.momentum0 = this.at(motion.start).momentum.length();
  }

  at(t: number): Sight {
    const { q, omega, torque } = this.motion.at(t);
    const attitude = this.upright.clone().multiply(toThree(q));
    const principalRate = new Vector3(...omega).applyMatrix3(this.toPrincipal);
    const [I1, I2, I3] = this.about.moments;
    const spin = new Vector3(I1 * principalRate.x, I2 * principalRate.y, I3 * principalRate.z);
    const momentum = spin.clone().applyMatrix3(this.toBody);
    if (this.about.rotor) momentum.add(new Vector3(...this.about.rotor));
    return {
      attitude,
      rate: new Vector3(...omega).applyQuaternion(attitude),
      momentum: momentum.applyQuaternion(attitude),
      torque: torque && new Vector3(...torque).applyQuaternion(attitude),
      spin,
      principalRate,
      energy2: spin.dot(principalRate),
    };
  }

  /** A vector about the principal axes, in the space that is shown. */
  shown(v: Vector3, attitude: Quaternion): Vector3 {
    return v.applyQuaternion(this.principal).applyQuaternion(attitude);
  }

  unit(quantity: string, fallback: string): string {
    return this.about.units[quantity] ?? fallback;
  }
}
