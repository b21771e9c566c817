// Node-RED, embedded and headless: no port, no editor, a home folder that is thrown away.
//
// A message goes in at the first node and the time runs until the last one has it. Delivery is as a user has it: each
// message waits for its turn in the event loop. Usage: node node_red.mjs FOLDER_WITH_NODE_MODULES

import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measure } from "./rounds.mjs";

const here = import.meta.dirname;
const require = createRequire(join(process.argv[2], "index.js"));
const RED = require("node-red");
const sizes = JSON.parse(readFileSync(join(here, "graphs.json"), "utf8"));
const exact = Number.MAX_SAFE_INTEGER;

const node = (graph, id, type, wires, config = {}) => ({
  id: `${graph}-${id}`,
  type: `bench-${type}`,
  z: graph,
  wires: wires.map((port) => port.map((to) => `${graph}-${to}`)),
  x: 0,
  y: 0,
  ...config,
});

function chain() {
  return Array.from({ length: sizes.chain }, (_, i) =>
    node("chain", i, "add", [[i + 1 < sizes.chain ? i + 1 : "end"]]),
  );
}

function fan() {
  const ids = Array.from({ length: sizes.fan }, (_, i) => i + 1);
  return [
    node("fan", 0, "add", [ids]),
    ...ids.map((id) => node("fan", id, "add", [["sum"]])),
    node("fan", "sum", "sum", [["end"]], { count: sizes.fan, modulus: exact }),
  ];
}

function grid() {
  const side = sizes.grid;
  return Array.from({ length: side * side }, (_, id) => {
    const [row, column] = [Math.floor(id / side), id % side];
    const next = [];
    if (column + 1 < side) next.push(id + 1);
    if (row + 1 < side) next.push(id + side);
    const count = Math.max(1, (column > 0) + (row > 0));
    return node("grid", id, "sum", [next.length ? next : ["end"]], { count, modulus: sizes.modulus });
  });
}

// Two nodes go round: one adds, one sends back or on.
function loop() {
  return [
    node("loop", 0, "add", [["until"]]),
    node("loop", "until", "until", [[0], ["end"]], { limit: sizes.loop }),
  ];
}

const graphs = [
  { graph: "chain", flow: chain(), nodes: sizes.chain, payload: 0 },
  { graph: "fan", flow: fan(), nodes: sizes.fan + 2, payload: 0 },
  { graph: "grid", flow: grid(), nodes: sizes.grid ** 2, payload: 1 },
  { graph: "loop", flow: loop(), nodes: sizes.loop, payload: 0 },
];

const home = mkdtempSync(join(tmpdir(), "innkeeper-bench-node-red-"));
try {
  const flows = graphs.flatMap(({ graph, flow }) => [
    { id: graph, type: "tab", label: graph },
    ...flow,
    node(graph, "end", "end", []),
  ]);
  writeFileSync(join(home, "flows.json"), JSON.stringify(flows));
  RED.init({
    userDir: home,
    flowFile: "flows.json",
    nodesDir: join(here, "node-red"),
    httpAdminRoot: false,
    httpNodeRoot: false,
    credentialSecret: false,
    telemetry: { enabled: false, updateNotification: false },
    // Standard output belongs to the rows.
    logging: { errors: { level: "error", handler: () => ({ msg }) => console.error(msg) } },
  });
  const started = once(RED.events, "flows:started");
  await RED.start();
  await started;
  const version = `${RED.version()} on Node ${process.versions.node}`;
  for (const { graph, nodes, payload } of graphs) {
    const first = RED.nodes.getNode(`${graph}-0`);
    const run = () =>
      new Promise((resolve) => {
        RED.events.once("bench-end", resolve);
        first.receive({ payload });
      });
    await measure({ peer: "Node-RED", version, graph, nodes, run });
  }
  await RED.stop();
} finally {
  rmSync(home, { recursive: true, force: true });
}
process.exit(0);
