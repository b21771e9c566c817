// Attempts in JavaScript: `node.js <attempt> <scene as JSON>`.
const fs = require("fs");
const net = require("net");
const { spawn } = require("child_process");
const { Worker } = require("worker_threads");

const scene = JSON.parse(process.argv[3]);
const escaped = (what) => console.log(`\nESCAPED: ${what}`);
const blocked = (why) => console.log(`\nblocked: ${why}`);

function refused(...tries) {
  const reasons = new Set();
  for (const attempt of tries) {
    try {
      attempt();
    } catch (error) {
      reasons.add(error.code ?? error.message);
      continue;
    }
    return escaped(attempt);
  }
  blocked([...reasons].sort().join(", "));
}

const attempts = {
  read_secret: () =>
    refused(
      () => fs.readFileSync(`${scene.home}/secrets.toml`),
      () => fs.readdirSync(scene.home),
      () => fs.readFileSync("/etc/shadow"),
      () => fs.readFileSync(`/proc/${scene.pid}/environ`),
    ),
  connect: () => {
    const socket = net.connect(scene.tcp, "127.0.0.1");
    socket.on("connect", () => escaped("connected"));
    socket.on("error", (error) => blocked(error.code));
  },
  abstract_socket: () => {
    const socket = net.connect(`\0${scene.abstract}`);
    socket.on("connect", () => escaped("connected"));
    socket.on("error", (error) => blocked(error.code));
  },
  write_root: () =>
    refused(
      () => fs.writeFileSync(`${scene.plugin}/data.txt`, "x"),
      () => fs.chmodSync(`${scene.plugin}/data.txt`, 0o777),
      () => fs.cpSync("/bin/sh", "/usr/bin/innkeeper-sh"),
    ),
  become_root: () =>
    refused(
      () => process.setuid(0),
      () => process.setgid(0),
      () => process.kill(scene.pid, 9),
      () => process.chroot?.("/tmp") ?? refuse(),
    ),
  daemon: () => {
    spawn("/bin/sh", ["-c", `trap '' HUP TERM; sleep 1000; : ${scene.token}`], {
      detached: true,
      stdio: "inherit",
    }).unref();
    blocked("left behind");
  },
  memory_shared: () => {
    const kept = [];
    for (;;) {
      const piece = new Uint8Array(new SharedArrayBuffer(4 << 20));
      piece.fill(1);
      kept.push(piece);
    }
  },
  memory_of_workers: () => {
    for (let count = 0; count < 4; count++) {
      new Worker("const kept = []; for (;;) kept.push(new Array(100000).fill(count => count));", { eval: true });
    }
  },
  spin_in_workers: () => {
    for (let count = 0; count < 3; count++) new Worker("for (;;);", { eval: true });
  },
};

function refuse() {
  const error = new Error("EPERM");
  error.code = "EPERM";
  throw error;
}

attempts[process.argv[2]]();
