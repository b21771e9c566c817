const fs = require("node:fs");
const util = require("node:util");

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const printed = [];
const print = (...parts) => printed.push(util.format(...parts) + "\n");
for (const name of ["log", "info", "warn", "error", "debug"]) console[name] = print;
const names = Object.keys(asked.inputs).filter((name) => /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) && name !== "result");
// A function made from text begins with two lines of its own, and one stands before the code.
const LINES_BEFORE = 3;
const told_of = (problem) => {
  const place = /<anonymous>:(\d+):\d+/.exec((problem && problem.stack) || "");
  return String(problem) + (place ? `\n    at line ${place[1] - LINES_BEFORE} of the code` : "");
};
const AsyncFunction = (async () => {}).constructor;

(async () => {
  let result = null;
  let error = "";
  try {
    const body = `let result = null;\n${asked.code}\n;return result;`;
    const work = new AsyncFunction("require", ...names, body);
    result = await work(require, ...names.map((name) => asked.inputs[name]));
  } catch (problem) {
    error = told_of(problem);
  }
  try {
    result = JSON.parse(JSON.stringify(result === undefined ? null : result) ?? "null");
  } catch (problem) {
    result = null;
    error = error || `'result' cannot be passed on as JSON: ${problem}`;
  }
  // Half a character pair can stand in a text here, and nowhere else.
  const whole = (key, value) => (typeof value === "string" ? value.replace(/\p{Surrogate}/gu, "\ufffd") : value);
  let told = JSON.stringify({ result, stdout: printed.join(""), error }, whole);
  // What is printed is shown as a text in JSON, where a quote is two characters.
  if (JSON.stringify(told).length > asked.most) {
    fs.writeFileSync(asked.file, JSON.stringify(JSON.parse(told), null, 1));
    told = JSON.stringify({ file: asked.file });
  }
  // Whoever only sees the end of the program knows too.
  process.exitCode = error ? 1 : 0;
  process.stdout.write(told + "\n");
})();
