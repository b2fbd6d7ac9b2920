// The page as a notebook widget. Traits: `data`, the JSON of the page as text, and `time`, which goes both ways.

import { App } from "./app";
import { decode } from "./data";

interface Model {
  get(name: "data"): string;
  get(name: "time"): number;
  set(name: "time", value: number): void;
  save_changes(): void;
  on(name: string, callback: () => void): void;
  off(name: string, callback: () => void): void;
}

/** Python hears of the time at most this often, in milliseconds. */
const TELL_EVERY = 100;

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const root = document.createElement("div");
  root.classList.add("embedded");
  root.dataset.lmSuppressShortcuts = "true"; // or JupyterLab takes D, pressed twice, for the wish to delete the cell
  el.append(root);
  let pending = 0;
  let latest = Number.NaN;
  const tell = (): void => {
    pending = 0;
    if (model.get("time") === latest) return;
    model.set("time", latest);
    model.save_changes();
  };
  const tellSoon = (time: number): void => {
    latest = time;
    if (pending === 0) pending = window.setTimeout(tell, TELL_EVERY);
  };
  let app: App;
  const start = (): void => {
    app = new App(root, decode(model.get("data")), { autoplay: false, onTime: tellSoon });
    const time = model.get("time");
    if (Number.isFinite(time)) app.handle.time = time;
  };
  const onData = (): void => {
    app.handle.discard();
    start();
  };
  const onTime = (): void => {
    const time = model.get("time");
    if (time === latest) return;
    app.handle.time = time;
    tellSoon(app.handle.time); // a time outside the run becomes one of its ends
  };
  start();
  model.on("change:data", onData);
  model.on("change:time", onTime);
  return () => {
    model.off("change:data", onData);
    model.off("change:time", onTime);
    window.clearTimeout(pending);
    app.handle.discard();
  };
}

export default { render };
