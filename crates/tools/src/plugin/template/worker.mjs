// Greets people for as long as it is needed: a JSON-RPC call a line comes in, an answer a line goes out.

import { createInterface } from "node:readline";

const greeting = process.env.GREETING ?? "Hello";
const cancelled = new Map();

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");

// Whatever takes long should look at `signal` now and then: it tells that nobody wants the answer any more.
async function greet(id, { name }, signal) {
  send({ method: "progress", params: { id, fraction: 0.5, message: "Taking a breath" } });
  signal.throwIfAborted();
  return `${greeting}, ${name}!`;
}

async function answer(id, params) {
  const controller = new AbortController();
  cancelled.set(id, controller);
  try {
    send({ id, result: await greet(id, params.arguments, controller.signal) });
  } catch (error) {
    send({ id, error: { code: 1, message: String(error?.message ?? error) } });
  } finally {
    cancelled.delete(id);
  }
}

// What takes long to load is loaded above, once. The loop ends when standard input does: then nobody needs us.
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "call") answer(id, params);
  if (method === "cancel") cancelled.get(params.id)?.abort();
}
