// usage: node --experimental-vm-modules --no-warnings ops/console.mjs
//
// Parses the scripts of the console and of the return page without running them, and checks that the console's modules
// export every name that another one imports.

import { readFileSync } from "node:fs";
import { Script, SourceTextModule, SyntheticModule } from "node:vm";

const folder = "Sources/PollerAPI/Console/";
// The server writes the module of the currencies: ConsoleRoutes.swift.
const currencies = new SyntheticModule(["zeroDecimal", "threeDecimal", "wholeInHundredths"], () => {});
const modules = new Map([["currencies.js", currencies]]);

function load(name) {
  const path = folder + name;
  if (!modules.has(name)) modules.set(name, new SourceTextModule(readFileSync(path, "utf8"), { identifier: path }));
  return modules.get(name);
}

await load("app.js").link((name) => load(name.replace("./", "")));
const page = "Sources/PollerAPI/ReturnPage/return.js";
new Script(readFileSync(page, "utf8"), { filename: page });
