// Starts a snippet of JavaScript. What compiles as CommonJS is run as that; everything else (import, export, await
// outside a function) as an ES module, in which `require` and its kin are there all the same.
const { readFileSync, renameSync } = require("node:fs");
const Module = require("node:module");
const { dirname } = require("node:path");
const { Script } = require("node:vm");

const file = process.argv[1];
try {
  new Script(Module.wrap(readFileSync(file, "utf8").replace(/^#!.*/, "")));
} catch {
  const module = file.replace(/\.cjs$/, ".mjs");
  renameSync(file, module);
  process.argv[1] = module;
  globalThis.require = Module.createRequire(module);
  globalThis.__filename = module;
  globalThis.__dirname = dirname(module);
}
Module.runMain();
