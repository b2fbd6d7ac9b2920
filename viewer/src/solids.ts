// Pieces of a scene: arrows, lines of any width, trails, the box.

import {
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Color,
  ConeGeometry,
  CylinderGeometry,
  DoubleSide,
  EdgesGeometry,
  Group,
  type InterleavedBufferAttribute,
  LineBasicMaterial,
  LineSegments,
  Mesh,
  MeshBasicMaterial,
  MeshLambertMaterial,
  type Object3D,
  SphereGeometry,
  Vector3,
} from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import type { Shape } from "./data";
import type { Vec } from "./free";
import { halfEdges } from "./subject";
import type { Theme } from "./theme";

const UP = new Vector3(0, 0, 1);

/** An arrow from the origin. */
export class Arrow extends Group {
  private readonly shaft: Mesh;
  private readonly head: Mesh;
  private readonly thickness: number;

  constructor(color: string, thickness: number, shaded = true) {
    super();
    const material = shaded
      ? new MeshLambertMaterial({ color, emissive: new Color(color).multiplyScalar(0.35) })
      : new MeshBasicMaterial({ color });
    this.thickness = thickness;
    this.shaft = new Mesh(new CylinderGeometry(1, 1, 1, 16).translate(0, 0.5, 0).rotateX(Math.PI / 2), material);
    this.head = new Mesh(new ConeGeometry(1, 1, 24).translate(0, -0.5, 0).rotateX(Math.PI / 2), material);
    this.add(this.shaft, this.head);
  }

  /** Lets the arrow end at a point; hides it if that is the origin. */
  point(to: Vector3): void {
    const length = to.length();
    this.visible = length > 1e-9;
    if (!this.visible) return;
    this.quaternion.setFromUnitVectors(UP, to.clone().divideScalar(length));
    const head = Math.min(this.thickness * 6, 0.5 * length);
    this.shaft.scale.set(this.thickness, this.thickness, length - 0.9 * head);
    this.head.scale.set(this.thickness * 2.6, this.thickness * 2.6, head);
    this.head.position.set(0, 0, length);
  }
}

/** The greatest width, in pixels, that the graphics card draws as a line. */
const THIN = 1.25;

interface LineLook {
  color: string;
  width: number;
  opacity?: number;
  /** Seen through what lies in front of it. */
  through?: boolean;
}

function lineMaterial({ color, width, opacity = 1, through = false }: LineLook, vertexColors = false): LineMaterial {
  return new LineMaterial({
    color: vertexColors ? 0xffffff : new Color(color).getHex(),
    linewidth: width,
    transparent: opacity < 1 || through,
    opacity,
    vertexColors,
    depthTest: !through,
    depthWrite: !through,
  });
}

/** A line through points. */
export function line(points: Vec[], look: LineLook): Line2 {
  return new Line2(new LineGeometry().setPositions(points.flat()), lineMaterial(look));
}

/** Many lines as one object. Thin ones are drawn as such: wide ones are made of triangles, which software draws slowly. */
export function lines(curves: Vec[][], look: LineLook): Object3D {
  const pairs: number[] = [];
  for (const curve of curves) {
    for (let n = 1; n < curve.length; n++) pairs.push(...curve[n - 1]!, ...curve[n]!);
  }
  if (look.width > THIN) return new LineSegments2(new LineSegmentsGeometry().setPositions(pairs), lineMaterial(look));
  const { color, opacity = 1 } = look;
  const shape = new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(pairs), 3));
  return new LineSegments(shape, new LineBasicMaterial({ color, opacity, transparent: opacity < 1 }));
}

/** A line with a fixed number of points that move, which fades towards its first one. */
export class Trail extends Line2 {
  readonly count: number;
  private readonly pairs: Float32Array;

  constructor(count: number, color: string, background: string, width: number) {
    super(new LineGeometry(), lineMaterial({ color, width }, true));
    this.count = count;
    const [from, to] = [between(background, color, 0.12), new Color(color)];
    // on light grounds pale colours vanish sooner than dark ones do on dark grounds
    const fade = from.getHSL({ h: 0, s: 0, l: 0 }).l > 0.5 ? 0.55 : 1.5;
    const colors: number[] = [];
    for (let n = 0; n < count; n++)
      colors.push(
        ...from
          .clone()
          .lerp(to, (n / (count - 1)) ** fade)
          .toArray(),
      );
    this.geometry.setPositions(new Float32Array(3 * count));
    this.geometry.setColors(colors);
    this.pairs = (this.geometry.attributes.instanceStart as InterleavedBufferAttribute).data.array as Float32Array;
    this.frustumCulled = false;
  }

  /** Moves the points: `at` is called with 0, 1, ... and writes into the vector it is given. */
  trace(at: (n: number, out: Vector3) => void): void {
    const point = new Vector3();
    for (let n = 0; n < this.count; n++) {
      at(n, point);
      if (n < this.count - 1) point.toArray(this.pairs, 6 * n);
      if (n > 0) point.toArray(this.pairs, 6 * n - 3);
    }
    (this.geometry.attributes.instanceStart as InterleavedBufferAttribute).data.needsUpdate = true;
  }
}

/** A small ball. */
export function ball(color: string, radius: number): Mesh {
  return new Mesh(new SphereGeometry(radius, 16, 10), new MeshBasicMaterial({ color }));
}

/** A colour between two. */
export const between = (a: string, b: string, f: number): Color => new Color(a).lerp(new Color(b), f);

export interface BodyLook {
  /** Opaque with coloured faces, or a coloured shade of the body. */
  ghost: string | null;
}

/** The body about its principal axes: a box with faces in the colours of the axes across them. */
export function box(moments: Vec, look: Theme, { ghost }: BodyLook): Group {
  const [a, b, c] = halfEdges(moments);
  const shape = new BoxGeometry(2 * a, 2 * b, 2 * c);
  const white = look.dark ? "#c9d2dc" : "#ffffff";
  const faces = [0, 1, 2].flatMap((n) =>
    [0.12, 0.62].map((pale) =>
      ghost
        ? new MeshLambertMaterial({ color: ghost, transparent: true, opacity: 0.3, depthWrite: false })
        : new MeshLambertMaterial({ color: between(look.axes[n]!, white, pale) }),
    ),
  );
  return outlined(new Mesh(shape, faces), shape, ghost ?? (look.dark ? "#0b0e12" : "#1d232b"), ghost ? 2 : 1.5);
}

/** A shape that the user gave, about the body axes. */
export function meshBody(mesh: Shape, look: Theme, { ghost }: BodyLook): Group {
  const shape = new BufferGeometry();
  shape.setAttribute("position", new BufferAttribute(mesh.positions, 3));
  shape.setIndex(new BufferAttribute(mesh.indices, 1));
  const flat = shape.toNonIndexed();
  flat.computeVertexNormals();
  const material = ghost
    ? new MeshLambertMaterial({ color: ghost, transparent: true, opacity: 0.3, depthWrite: false, side: DoubleSide })
    : new MeshLambertMaterial({ color: look.dark ? "#8fa3b8" : "#b9c7d6", side: DoubleSide });
  const solid = new Mesh(flat, material);
  if (mesh.indices.length > 90_000) {
    const group = new Group();
    group.add(solid);
    return group;
  }
  return outlined(solid, shape, ghost ?? (look.dark ? "#0b0e12" : "#1d232b"), 1);
}

function outlined(solid: Mesh, shape: BufferGeometry, color: string, width: number): Group {
  const edges = new EdgesGeometry(shape, 30).attributes.position!.array as Float32Array;
  const group = new Group();
  group.add(solid);
  if (edges.length > 0) {
    group.add(new LineSegments2(new LineSegmentsGeometry().setPositions(edges), lineMaterial({ color, width })));
  }
  return group;
}

/** Frees the shapes of a scene. Its materials are kept: with the last of a kind its program would go, to be made anew. */
export function discard(root: Object3D): void {
  root.traverse((object) => (object as Partial<Mesh>).geometry?.dispose());
  root.clear();
}
