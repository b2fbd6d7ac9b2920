// A panel: a scene with a camera and labels in a cell of the stage. Cells that show the same thing share a viewpoint.

import {
  AmbientLight,
  DirectionalLight,
  type Object3D,
  PerspectiveCamera,
  Scene,
  Vector3,
  type WebGLRenderer,
} from "three";
import { h } from "./dom";
import { discard } from "./solids";

/** Where one looks from: angles in radians, distance in units of the scene. */
export class Viewpoint {
  azimuth: number;
  elevation: number;
  distance: number;
  private readonly initial: [number, number, number];

  constructor(azimuth: number, elevation: number, distance: number) {
    this.azimuth = azimuth;
    this.elevation = elevation;
    this.distance = distance;
    this.initial = [azimuth, elevation, distance];
  }

  turn(azimuth: number, elevation: number): void {
    this.azimuth += azimuth;
    this.elevation = Math.min(Math.max(this.elevation + elevation, -1.55), 1.55);
  }

  zoom(factor: number): void {
    this.distance = Math.min(Math.max(this.distance * factor, 0.3 * this.initial[2]), 4 * this.initial[2]);
  }

  reset(): void {
    [this.azimuth, this.elevation, this.distance] = this.initial;
  }

  /** Moves the camera there; it looks at a point of this height above the origin. */
  place(camera: PerspectiveCamera, widen: number, center: number): void {
    const { azimuth, elevation, distance } = this;
    const c = Math.cos(elevation);
    camera.position
      .set(c * Math.cos(azimuth), c * Math.sin(azimuth), Math.sin(elevation))
      .multiplyScalar(distance * widen);
    camera.position.z += center;
    camera.lookAt(0, 0, center);
    camera.updateMatrixWorld();
  }
}

const FIELD_OF_VIEW = 30;
/** Words nearer to each other than this, in pixels, cannot be read: the one that was added first moves to one side. */
const CLOSE = 15;
const ASIDE = [0, 20, -26, 40, -46];

interface Label {
  element: HTMLElement;
  at: () => Vector3 | null;
  /** How far the word stands from the line to its point, in pixels: to the right of a line that goes up. */
  beside: number;
}

export class Panel {
  readonly cell: HTMLElement;
  readonly scene = new Scene();
  readonly camera = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.1, 100);
  readonly content: Object3D;
  readonly viewpoint: Viewpoint;
  /** The part of the cell that is drawn into, below its words. */
  readonly layer: HTMLElement;
  private labels: Label[] = [];
  private readonly center: number;

  constructor(name: string, title: string, viewpoint: Viewpoint, center: number, onChange: () => void) {
    this.layer = h("div", { class: "labels", "aria-hidden": "true" });
    this.cell = h(
      "section",
      { class: `cell ${name}`, tabindex: 0, role: "img", "aria-label": title },
      h("h2", {}, title),
      this.layer,
    );
    this.viewpoint = viewpoint;
    this.center = center;
    this.camera.up.set(0, 0, 1);
    const sun = new DirectionalLight(0xffffff, 2.3);
    sun.position.set(0.5, 0.9, 1.6);
    this.camera.add(sun);
    this.scene.add(this.camera, new AmbientLight(0xffffff, 1.6));
    this.content = new Scene();
    this.scene.add(this.content);
    handle(this.cell, viewpoint, onChange);
  }

  set title(text: string) {
    this.cell.querySelector("h2")!.textContent = text;
  }

  /** Takes everything out, to be built anew. */
  empty(): void {
    discard(this.content);
    this.labels = [];
    this.layer.replaceChildren();
  }

  /** Adds a word that stays at a point of the scene, or is hidden where there is none. */
  label(text: string, color: string, at: () => Vector3 | null, beside = 0): void {
    const element = h("span", {}, text);
    element.style.color = color;
    this.layer.append(element);
    this.labels.push({ element, at, beside });
  }

  /** Draws the scene into its cell's part of the canvas. */
  draw(renderer: WebGLRenderer, stage: DOMRect): void {
    const rect = this.layer.getBoundingClientRect();
    if (rect.width < 2 || rect.height < 2) return;
    this.aim(rect);
    const [left, bottom] = [rect.left - stage.left, stage.bottom - rect.bottom];
    renderer.setViewport(left, bottom, rect.width, rect.height);
    renderer.setScissor(left, bottom, rect.width, rect.height);
    renderer.render(this.scene, this.camera);
    const origin = this.onCell(new Vector3(), rect);
    const taken: [number, number][] = [];
    for (const { element, at, beside } of [...this.labels].reverse()) {
      const point = at();
      element.hidden = point === null;
      if (point === null) continue;
      const { x, y } = this.onCell(point, rect);
      const [dx, dy] = [x - origin.x, y - origin.y];
      const length = Math.hypot(dx, dy);
      const [right, down] = length > 1 ? [(-dy / length) * beside, (dx / length) * beside] : [beside, 0];
      const isFree = ([u, v]: [number, number]): boolean => taken.every(([a, b]) => Math.hypot(u - a, v - b) > CLOSE);
      const places = ASIDE.map((aside): [number, number] => [x + right + aside, y + down]);
      const place = places.find(isFree) ?? places[0]!;
      taken.push(place);
      element.style.transform = `translate(${place[0].toFixed(1)}px, ${place[1].toFixed(1)}px) translate(-50%, -50%)`;
    }
  }

  /** Where a point of the scene is seen, in pixels from the corner of the window. */
  project(point: Vector3): { x: number; y: number } {
    const rect = this.layer.getBoundingClientRect();
    this.aim(rect);
    const { x, y } = this.onCell(point, rect);
    return { x: x + rect.left, y: y + rect.top };
  }

  private aim(rect: DOMRect): void {
    this.camera.aspect = rect.width / rect.height;
    this.camera.updateProjectionMatrix();
    this.viewpoint.place(this.camera, Math.max(1, 1 / this.camera.aspect), this.center);
  }

  private onCell(point: Vector3, rect: DOMRect): { x: number; y: number } {
    const p = point.clone().project(this.camera);
    return { x: ((1 + p.x) * rect.width) / 2, y: ((1 - p.y) * rect.height) / 2 };
  }
}

/** One finger or button turns, two fingers pinch, the wheel zooms where the cell was clicked before or with Ctrl. */
function handle(cell: HTMLElement, viewpoint: Viewpoint, onChange: () => void): void {
  const fingers = new Map<number, { x: number; y: number }>();
  const spread = (): number => {
    const [a, b] = [...fingers.values()];
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  };
  cell.addEventListener("pointerdown", (event) => {
    if ((event.target as Element).closest("button, input")) return;
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    cell.setPointerCapture(event.pointerId);
  });
  cell.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const old = spread();
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    if (fingers.size === 2 && old > 0) viewpoint.zoom(old / spread());
    else if (fingers.size === 1) viewpoint.turn((before.x - event.clientX) * 0.008, (event.clientY - before.y) * 0.008);
    onChange();
  });
  for (const name of ["pointerup", "pointercancel"] as const) {
    cell.addEventListener(name, (event) => fingers.delete(event.pointerId));
  }
  cell.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !cell.contains(document.activeElement)) return;
      event.preventDefault();
      viewpoint.zoom(Math.exp(event.deltaY * 0.0012));
      onChange();
    },
    { passive: false },
  );
}
