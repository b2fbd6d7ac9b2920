// The page as a file: reads the data beside it and fills <div id="polhode">.

import { App, type Handle } from "./app";
import { decode } from "./data";

declare global {
  interface Window {
    polhode?: Handle;
  }
}

const root = document.getElementById("polhode")!;
try {
  const page = decode(document.getElementById("polhode-data")!.textContent!);
  window.polhode = new App(root, page, {
    // in a frame of another page only where that asks for it
    autoplay: window.top === window || location.hash === "#play",
  }).handle;
} catch (problem) {
  root.classList.add("polhode", "broken");
  root.textContent = `This page cannot be shown: ${problem instanceof Error ? problem.message : problem}.`;
  console.error(problem);
}
