// What the three kinds of panels show: the body in space, Poinsot's construction, the momentum sphere.

import {
  CircleGeometry,
  DoubleSide,
  Group,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  type Object3D,
  Quaternion,
  SphereGeometry,
  Vector3,
} from "three";
import type { Vec } from "./free";
import { levelCurve, levelCurves, separatrices } from "./level";
import { Panel, Viewpoint } from "./panel";
import { Arrow, ball, box, discard, line, lines, meshBody, Trail } from "./solids";
import { halfEdges, type Sight, type Subject } from "./subject";
import type { Theme } from "./theme";

/** What may be shown or hidden in a scene. */
export interface Shown {
  body: boolean;
  bodyAxes: boolean;
  spaceAxes: boolean;
  momentum: boolean;
  rate: boolean;
  torque: boolean;
  trails: boolean;
}

/** Trails reach back over this length, in units of the largest half edge, if the body turns no farther than that. */
const TRAIL_LENGTH = 8;
const TRAIL_TURN = 90;
const TRAIL_POINTS = 180;
/** Length of the longest arrows, in units of the largest half edge. */
const ARROW = 1.7;

const circle = (radius: number, z: number, count = 72): Vec[] =>
  Array.from({ length: count + 1 }, (_, n) => {
    const angle = (2 * Math.PI * n) / count;
    return [radius * Math.cos(angle), radius * Math.sin(angle), z] as Vec;
  });

const E: [Vector3, Vector3, Vector3] = [new Vector3(1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, 0, 1)];

/** The arrows of the body axes end this far beyond the box. */
export const AXIS_BEYOND = 0.42;

/** The tips of the arrows of the body axes, about the principal axes. */
export function axisTips(moments: Vec): [Vector3, Vector3, Vector3] {
  const edges = halfEdges(moments);
  return [0, 1, 2].map((n) => E[n]!.clone().multiplyScalar(edges[n]! + AXIS_BEYOND)) as [Vector3, Vector3, Vector3];
}

/** The body in space: one run, or several on top of each other. */
export class BodyPanel extends Panel {
  private moving: ((t: number) => void)[] = [];
  private readonly shown: Shown;

  constructor(title: string, viewpoint: Viewpoint, shown: Shown, onChange: () => void) {
    super("body", title, viewpoint, -0.06, onChange);
    this.shown = shown;
  }

  /** Builds the scene of these runs; the first is solid, others are seen through. */
  build(subjects: { subject: Subject; color: string }[], look: Theme): void {
    this.empty();
    this.moving = [];
    const floor = -1.6;
    this.content.add(
      lines([circle(1.35, floor), circle(0.9, floor), circle(0.45, floor)], {
        color: look.plane,
        width: 1,
        opacity: 0.8,
      }),
    );
    const first = subjects[0]!.subject;
    if (this.shown.spaceAxes) {
      E.forEach((e, n) => {
        const tip = e.clone().applyQuaternion(first.upright).multiplyScalar(1.45);
        this.content.add(line([[0, 0, 0], tip.toArray() as Vec], { color: look.faint, width: 1.5 }));
        this.label("XYZ"[n]!, look.faint, () => tip.clone().multiplyScalar(1.04), 11);
      });
    }
    subjects.forEach(({ subject, color }, order) => {
      this.addRun(subject, color, order, subjects.length > 1, look);
    });
  }

  private addRun(subject: Subject, color: string, order: number, together: boolean, look: Theme): void {
    const { moments, mesh, points } = subject.about;
    const ghost = order > 0 ? color : null;
    const turning = new Group();
    const principal = new Group();
    principal.quaternion.copy(subject.principal);
    turning.add(principal);
    this.content.add(turning);
    if (this.shown.body) {
      if (mesh) turning.add(meshBody(mesh, look, { ghost }));
      else principal.add(box(moments, look, { ghost }));
    }
    let sight = subject.at(subject.motion.start);
    if (this.shown.bodyAxes) {
      axisTips(moments).forEach((tip, n) => {
        const arrow = new Arrow(ghost ?? look.axes[n]!, ghost ? 0.014 : 0.02, false);
        arrow.point(tip);
        principal.add(arrow);
        if (order === 0) {
          this.label(
            String(n + 1),
            look.axes[n]!,
            () => subject.shown(tip.clone().setLength(tip.length() + 0.1), sight.attitude),
            -13,
          );
        }
      });
    }
    const momentum = new Arrow(together && order > 0 ? color : look.momentum, 0.03);
    const rate = new Arrow(together && order > 0 ? color : look.rate, 0.03);
    const torque = new Arrow(look.torque, 0.026);
    const { largest } = subject;
    const scaled = (v: Vector3 | null, by: number): Vector3 =>
      v && by > 0 ? v.clone().multiplyScalar(ARROW / by) : new Vector3();
    const tip = (v: Vector3): Vector3 | null => (v.length() > 0.05 ? v.clone().setLength(v.length() + 0.06) : null);
    if (this.shown.momentum) this.content.add(momentum);
    if (this.shown.rate) this.content.add(rate);
    if (this.shown.torque && largest.torque > 0) this.content.add(torque);
    if (order === 0) {
      if (this.shown.momentum) this.label("L", look.momentum, () => tip(scaled(sight.momentum, largest.momentum)), -13);
      if (this.shown.rate) this.label("ω", look.rate, () => tip(scaled(sight.rate, largest.rate)), 13);
      if (this.shown.torque && largest.torque > 0) {
        this.label("τ", look.torque, () => tip(scaled(sight.torque, largest.torque)));
      }
    }
    const trails: [Trail, Vector3, number][] = this.shown.trails
      ? points.map((p) => {
          const hue = ghost ?? (together ? color : look.axes[dominant(p, subject)]!);
          const trail = new Trail(TRAIL_POINTS, hue, look.background, 2);
          const end = ball(hue, 0.032);
          end.position.set(...p);
          turning.add(end);
          this.content.add(trail);
          return [trail, new Vector3(...p), trailTime(subject, new Vector3(...p))];
        })
      : [];
    this.moving.push((t) => {
      sight = subject.at(t);
      turning.quaternion.copy(sight.attitude);
      momentum.point(scaled(sight.momentum, largest.momentum));
      rate.point(scaled(sight.rate, largest.rate));
      torque.point(scaled(sight.torque, largest.torque));
      for (const [trail, point, reach] of trails) {
        const from = Math.max(t - reach, subject.motion.start);
        trail.trace((n, out) => {
          const { attitude } =
            n === TRAIL_POINTS - 1 ? sight : subject.at(from + ((t - from) * n) / (TRAIL_POINTS - 1));
          out.copy(point).applyQuaternion(attitude);
        });
      }
    });
  }

  move(t: number): void {
    for (const move of this.moving) move(t);
  }
}

/** How far back a trail reaches: slow points leave longer ones. */
function trailTime(subject: Subject, point: Vector3): number {
  const { start, end, pace } = subject.motion;
  if (!(pace > 0)) return 0;
  const step = 0.02 / pace;
  let path = 0;
  for (let n = 0; n < 100; n++) {
    const t = start + ((end - start - step) * n) / 100;
    const [a, b] = [t, t + step].map((x) => point.clone().applyQuaternion(subject.at(x).attitude)) as [
      Vector3,
      Vector3,
    ];
    path += a.distanceTo(b);
  }
  const speed = path / (100 * step);
  return Math.min(TRAIL_LENGTH / Math.max(speed, 1e-300), TRAIL_TURN / pace);
}

/** The principal axis that a body point lies nearest to. */
function dominant(point: Vec, subject: Subject): number {
  const p = new Vector3(...point).applyQuaternion(subject.principal.clone().invert()).toArray().map(Math.abs);
  return p.indexOf(Math.max(...p));
}

const HERPOLHODE_POINTS = 300;
/** The herpolhode reaches back over this angle, in radians, at the mean rate. */
const HERPOLHODE_ANGLE = 60;

/**
 * Poinsot's construction. The ellipsoid of all rates of the same energy rolls on the invariable plane, which is drawn
 * below it, like a table: the line of the rate leaves the ellipsoid at two opposite points, and the lower one touches.
 */
export class PoinsotPanel extends Panel {
  private moving: (t: number) => void = () => {};

  constructor(onChange: () => void) {
    super("poinsot", "Poinsot’s construction", new Viewpoint(0.9, 0.36, 5.2), -0.15, onChange);
  }

  build(subject: Subject, look: Theme): void {
    this.empty();
    const { moments, free } = subject.about;
    this.title = free ? "Poinsot’s construction" : "Poinsot, as if the torque ended now";
    const semi = moments.map((I) => 1 / Math.sqrt(I)) as unknown as Vec;
    const unit = 1 / Math.max(...semi);
    const [a, b, c] = semi.map((x) => x * unit) as unknown as Vec;
    const rolling = new Group();
    const principal = new Group();
    principal.quaternion.copy(subject.principal);
    rolling.add(principal);
    const surface = new Mesh(
      new SphereGeometry(1, 48, 28),
      new MeshLambertMaterial({ color: look.surface, transparent: true, opacity: 0.74 }),
    );
    surface.scale.set(a * 0.995, b * 0.995, c * 0.995);
    principal.add(surface);
    const rings = [0, 1, 2].map((n) =>
      circle(1, 0).map(([x, y]): Vec => {
        const p: Vec = n === 0 ? [0, x, y] : n === 1 ? [y, 0, x] : [x, y, 0];
        return [p[0] * a, p[1] * b, p[2] * c];
      }),
    );
    rings.forEach((ring, n) => {
      principal.add(lines([ring], { color: look.axes[n]!, width: 1 }));
    });
    [a, b, c].forEach((x, n) => {
      const end = new Vector3().setComponent(n, x + 0.1);
      this.label(String(n + 1), look.axes[n]!, () => subject.shown(end.clone(), sight.attitude));
    });
    this.content.add(rolling);

    const plane = new Group();
    plane.add(
      new Mesh(
        new CircleGeometry(1.12, 72),
        new MeshBasicMaterial({
          color: look.plane,
          transparent: true,
          opacity: 0.45,
          side: DoubleSide,
          depthWrite: false,
        }),
      ),
      lines([circle(1.12, 0), circle(0.75, 0), circle(0.375, 0)], { color: look.faint, width: 1, opacity: 0.6 }),
    );
    this.content.add(plane);
    const herpolhode = new Trail(HERPOLHODE_POINTS, look.rate, look.plane, 2);
    const touch = ball(look.rate, 0.042);
    const rate = new Arrow(look.rate, 0.022);
    const foot = new Trail(2, look.rate, look.rate, 1.5);
    this.content.add(herpolhode, touch, rate, foot);
    let polhode: Group | null = null;
    let sight: Sight = subject.at(subject.motion.start);
    let drawn = Number.NaN;
    this.label("ω", look.rate, () => scale(sight), 13);

    /** The rate, in units in which the ellipsoid is what is drawn. */
    const scale = (s: Sight): Vector3 => s.rate.clone().multiplyScalar(s.energy2 > 0 ? unit / Math.sqrt(s.energy2) : 0);
    const reach = subject.motion.pace > 0 ? HERPOLHODE_ANGLE / subject.motion.pace : 0;
    this.moving = (t) => {
      sight = subject.at(t);
      rolling.quaternion.copy(sight.attitude);
      const w = scale(sight);
      const normal = subject.shown(sight.spin.clone(), sight.attitude).normalize();
      const height = w.dot(normal);
      plane.position.copy(normal).multiplyScalar(-height);
      plane.quaternion.setFromUnitVectors(E[2], normal.lengthSq() > 0 ? normal : E[2]);
      touch.position.copy(w).negate();
      rate.point(w);
      foot.trace((n, out) => out.copy(w).multiplyScalar(-n));
      const from = Math.max(t - reach, subject.motion.start);
      herpolhode.trace((n, out) => {
        const s = n === HERPOLHODE_POINTS - 1 ? sight : subject.at(from + ((t - from) * n) / (HERPOLHODE_POINTS - 1));
        out.copy(scale(s)).negate();
      });
      const level = sight.energy2 / Math.max(sight.spin.lengthSq(), 1e-300);
      if (polhode && (free || Math.abs(level / drawn - 1) < 1e-4)) return;
      drawn = level;
      if (polhode) discard(polhode.removeFromParent());
      polhode = new Group();
      const length = sight.spin.length();
      const m = sight.spin.clone().normalize().toArray() as Vec;
      const factor = sight.energy2 > 0 ? (unit * length) / Math.sqrt(sight.energy2) : 0;
      const curve = levelCurve(moments, m).map(
        (p): Vec => [(p[0] * factor) / moments[0], (p[1] * factor) / moments[1], (p[2] * factor) / moments[2]],
      );
      if (curve.length > 0) {
        const opposite = curve.map((p): Vec => [-p[0], -p[1], -p[2]]);
        for (const points of [curve, opposite]) polhode.add(line(points, { color: look.momentum, width: 2.4 }));
      }
      principal.add(polhode);
    };
  }

  move(t: number): void {
    this.moving(t);
  }
}

/** The outline of the unit sphere as the camera sees it: the ends of the level curves would make it uneven. */
function rim(color: string): Object3D {
  const outline: Object3D = line(circle(1, 0), { color, width: 2.5 });
  const prepare = outline.onBeforeRender;
  outline.onBeforeRender = (...given) => {
    prepare.apply(outline, given);
    const camera = given[2];
    const eye = camera.position;
    const near = 1 / eye.length();
    const turn = new Quaternion().setFromUnitVectors(E[2], eye.clone().normalize());
    const size = Math.sqrt(1 - near * near);
    outline.matrixWorld.compose(eye.clone().multiplyScalar(near * near), turn, new Vector3(size, size, size));
  };
  return outline;
}

const PATH_POINTS = 90;
const PATH_ANGLE = 12;

/** The momentum as the body sees it, on the sphere that its size keeps it on, with the curves of constant energy. */
export class SpherePanel extends Panel {
  private moving: ((t: number) => void)[] = [];

  constructor(onChange: () => void) {
    super("sphere", "Momentum sphere", new Viewpoint(0.75, 0.4, 5.7), 0, onChange);
  }

  /** Draws the sphere of the first run, and the states of all. */
  build(subjects: { subject: Subject; color: string }[], look: Theme): void {
    this.empty();
    this.moving = [];
    const { moments } = subjects[0]!.subject.about;
    // as large as the curves, which would be seen past its edge, but drawn behind them, which it would bury
    const surface = new Mesh(
      new SphereGeometry(0.999, 56, 32),
      new MeshLambertMaterial({
        color: look.surface,
        polygonOffset: true,
        polygonOffsetFactor: 1,
        polygonOffsetUnits: 60,
      }),
    );
    this.content.add(surface, rim(look.faint));
    const curves = levelCurves(moments);
    const edges = separatrices(moments);
    if (curves.length > 0) this.content.add(lines(curves, { color: look.faint, width: 1 }));
    if (edges.length > 0) this.content.add(lines(edges, { color: look.separatrix, width: 2 }));
    E.forEach((e, n) => {
      const [end, far] = [e.clone().multiplyScalar(1.22), e.clone().multiplyScalar(1.34)];
      this.content.add(line([[0, 0, 0], end.toArray() as Vec], { color: look.axes[n]!, width: 2 }));
      this.label(String(n + 1), look.axes[n]!, () => far);
    });
    for (const { subject, color } of subjects) {
      const mark = subjects.length > 1 ? color : look.momentum;
      const path = new Trail(PATH_POINTS, mark, look.surface, 3);
      const dot = ball(mark, 0.055);
      // seen through the sphere when it is behind
      const behind = new Mesh(
        new SphereGeometry(0.055, 16, 10),
        new MeshBasicMaterial({ color: mark, transparent: true, opacity: 0.35, depthTest: false }),
      );
      this.content.add(path, dot, behind);
      const reach = subject.motion.pace > 0 ? PATH_ANGLE / subject.motion.pace : 0;
      const norm = subject.momentum0 || 1;
      const inverse = subject.principal.clone().invert();
      const at = (t: number): Vector3 => {
        const { spin, momentum, attitude } = subject.at(t);
        if (!subject.about.rotor) return spin.divideScalar(norm);
        return momentum
          .applyQuaternion(new Quaternion().copy(attitude).invert())
          .applyQuaternion(inverse)
          .divideScalar(norm);
      };
      this.moving.push((t) => {
        dot.position.copy(at(t));
        behind.position.copy(dot.position);
        const from = Math.max(t - reach, subject.motion.start);
        path.trace((n, out) => out.copy(at(from + ((t - from) * n) / (PATH_POINTS - 1))).multiplyScalar(1.004));
      });
    }
  }

  move(t: number): void {
    for (const move of this.moving) move(t);
  }
}
