// The help that ? opens.

import { h } from "./dom";

const KEYS: [string, string][] = [
  ["Space", "play, pause"],
  ["← →", "one step; with Shift ten"],
  ["↑ ↓", "faster, slower"],
  ["Home End", "first, last time"],
  ["N P", "next, previous event"],
  ["A D W S", "turn the view"],
  ["+ −", "nearer, farther"],
  ["R", "the view as it was"],
  ["O", "runs side by side or in one picture"],
  ["L", "start again at the end, or stop"],
  ["T", "dark, light"],
  ["?", "this help"],
];

export function helpDialog(): HTMLDialogElement {
  const close = h("button", { type: "button" }, "Close");
  const dialog = h(
    "dialog",
    { class: "help", "aria-label": "Help" },
    h("h2", {}, "What is seen"),
    h(
      "p",
      {},
      "The box has the edges of a homogeneous body with the given moments of inertia. Axes 1, 2, 3 turn with the body; X, Y, Z stay. ",
      "L is the angular momentum, upright at the start; ω the rate; τ the torque.",
    ),
    h(
      "p",
      {},
      "Poinsot: all rates of the same energy form an ellipsoid. It rolls on a plane without slipping. ",
      "The touching point draws the polhode on the ellipsoid and the herpolhode on the plane.",
    ),
    h(
      "p",
      {},
      "Momentum in the body: its size keeps it on a sphere, its energy on a curve. ",
      "The thick curves are the separatrices: beside them the body flips.",
    ),
    h(
      "p",
      {},
      "Drag to turn, pinch or click and scroll to zoom; drag over a curve to enlarge it, double-click to see all.",
    ),
    h("h2", {}, "Keys"),
    h("dl", {}, ...KEYS.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
    close,
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return dialog;
}
