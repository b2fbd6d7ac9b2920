// Takes what names a place on the network out of package-lock.json: npm finds packages by name, version and hash.
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(path, "utf8"));
for (const entry of Object.values(lock.packages)) {
  delete entry.resolved;
  delete entry.funding;
}
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
