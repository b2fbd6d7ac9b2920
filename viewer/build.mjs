// Bundles the page, its styles and the notebook widget into src/polhode/page/built/.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "polhode", "page", "built");
const three = join(dirname(createRequire(import.meta.url).resolve("three")), "..", "src");

// Shaders of materials that the page has not, and of effects that it does not use: empty, because the renderer of
// three.js names them all. The materials used are MeshBasicMaterial, MeshLambertMaterial and LineMaterial.
const UNUSED_SHADERS =
  /ShaderLib\/(background|backgroundCube|cube|depth|distance|equirect|linedashed|meshmatcap|meshnormal|meshphong|meshphysical|meshtoon|points|shadow|sprite|vsm)\.glsl\.js$|ShaderChunk\/(lights_physical|lights_phong|lights_toon|transmission|iridescence|clearcoat|cube_uv|lightprobes|shadowmap|tonemapping|bumpmap|normalmap|displacementmap|gradientmap|batching|morph|skin)\w*\.glsl\.js$/;

// Headsets are not served: of their manager the renderer needs only these.
const NO_HEADSET = `export class WebXRManager {
  enabled = false; isPresenting = false;
  addEventListener() {} removeEventListener() {} setAnimationLoop() {} dispose() {} getEnvironmentBlendMode() {}
}`;

/** three.js from its sources, of which only what is used is kept; comments and indents of shaders are left out. */
const fromSources = {
  name: "three from its sources",
  setup(building) {
    building.onResolve({ filter: /^three$/ }, () => ({ path: join(three, "Three.js") }));
    building.onLoad({ filter: /WebXRManager\.js$/ }, () => ({ contents: NO_HEADSET, loader: "js" }));
    building.onLoad({ filter: /\.glsl\.js$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const shader = /\/\* glsl \*\/\s*`([^`]*)`/g;
      const contents = text.replace(shader, (_, body) => {
        const lines = UNUSED_SHADERS.test(path) ? [] : body.replace(/\/\*[\s\S]*?\*\//g, "").split("\n");
        const kept = lines.map((line) => line.replace(/\/\/.*$/, "").trim()).filter((line) => line !== "");
        return JSON.stringify(kept.map((line) => `${line}\n`).join(""));
      });
      return { contents, loader: "js" };
    });
  },
};

/** The licences of what is bundled, which go with every copy. */
const licences = ["three", "uplot"]
  .map((name) => `${name}:\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}`)
  .join("\n\n");

mkdirSync(out, { recursive: true });
const shared = {
  banner: { js: `/*\n${licences}\n*/` },
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  plugins: [fromSources],
  absWorkingDir: here,
};
const made = await Promise.all([
  build({ ...shared, entryPoints: ["src/page.ts"], format: "iife", outfile: join(out, "page.js"), metafile: true }),
  build({ ...shared, entryPoints: ["src/style.css"], outfile: join(out, "page.css"), metafile: true }),
  build({ ...shared, entryPoints: ["src/widget.ts"], format: "esm", outfile: join(out, "widget.js"), metafile: true }),
]);
for (const { metafile } of made) {
  for (const [path, { bytes }] of Object.entries(metafile.outputs))
    console.log(`${path}: ${Math.round(bytes / 1000)} kB`);
}
