// One WebSocket that speaks JSON-RPC 2.0 both ways, opened when it is needed, opened again when it breaks.

import { AgentApiError, isCode } from '../errors.js';
import { isObject } from '../input.js';

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;
// A connection that never once came about is not waited for: there is another way.
const HOPELESS_AFTER = 3;

/**
 * @param {{ open: () => WebSocket, clock: object, random: () => number }} parts
 */
export function createSocket({ open, clock, random }) {
  const calls = new Map();
  const notified = new Map();
  const requested = new Map();
  const users = new Set();
  let ws;
  let isOpen = false;
  let wasOpen = false;
  let failures = 0;
  let nextId = 1;
  let callOff;

  function connect() {
    callOff = undefined;
    if (ws || users.size === 0) return;
    let mine;
    try {
      mine = open();
    } catch {
      return void broken();
    }
    ws = mine;
    mine.onopen = () => mine === ws && greeted();
    mine.onmessage = ({ data }) => mine === ws && receive(data);
    mine.onerror = () => {};
    mine.onclose = () => mine === ws && broken();
  }

  function greeted() {
    isOpen = wasOpen = true;
    for (const user of [...users]) user.opened();
  }

  function request(method, params) {
    const id = nextId++;
    return new Promise((resolve, reject) => {
      calls.set(id, { resolve, reject });
      ws.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  function broken() {
    ws = undefined;
    isOpen = false;
    failures += 1;
    for (const { reject } of calls.values()) reject(new AgentApiError('transport.closed', 'the connection was lost'));
    calls.clear();
    for (const user of [...users]) user.closed?.();
    if (!wasOpen && failures >= HOPELESS_AFTER) {
      for (const user of [...users]) user.hopeless?.();
    }
    if (users.size > 0 && !callOff) callOff = clock.after(wait(), connect);
  }

  /** Twice as long each time, and never all clients at once. */
  function wait() {
    const most = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1));
    return Math.round(most / 2 + (most / 2) * random());
  }

  function receive(data) {
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    for (const one of Array.isArray(message) ? message : [message]) if (isObject(one)) take(one);
  }

  function take(message) {
    if (typeof message.method !== 'string') return void settle(message);
    if (message.id === undefined) return void notified.get(message.method)?.(message.params ?? {});
    void reply(message);
  }

  function settle({ id, result, error }) {
    const call = calls.get(id);
    if (!call) return;
    calls.delete(id);
    if (!error) return void call.resolve(result);
    const told = isObject(error.data) ? error.data : {};
    const code = isCode(told.code) ? told.code : 'agent.internal_error';
    call.reject(new AgentApiError(code, told.detail ?? error.message ?? 'refused', { details: told.details ?? {} }));
  }

  async function reply({ id, method, params }) {
    const handler = requested.get(method);
    let answer;
    try {
      answer = handler
        ? { result: (await handler(params ?? {})) ?? null }
        : { error: { code: -32601, message: `there is no method '${method}' here` } };
    } catch (error) {
      const data = { code: error?.code, details: error?.details };
      answer = { error: { code: -32000, message: String(error?.message ?? error), data } };
    }
    if (isOpen) ws.send(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }

  return {
    /** Keeps the connection up as long as somebody uses it. `opened` is told at each opening, also the first. */
    use(user) {
      users.add(user);
      if (isOpen) user.opened();
      else if (!callOff) connect();
      return () => {
        users.delete(user);
        if (users.size > 0) return;
        callOff?.();
        callOff = undefined;
        const last = ws;
        ws = undefined;
        isOpen = false;
        failures = 0;
        last?.close?.();
      };
    },
    call(method, params) {
      if (!isOpen) return Promise.reject(new AgentApiError('transport.closed', 'there is no connection'));
      return request(method, params);
    },
    /** It looks open and is not. */
    restart() {
      const dead = ws;
      if (!isOpen) return;
      broken();
      dead.close?.();
    },
    /** Something came through: the next break begins with a short wait again. */
    healthy() {
      failures = 0;
    },
    onNotification: (method, handler) => notified.set(method, handler),
    /** What the server may ask of this page. */
    onRequest: (method, handler) => requested.set(method, handler),
    close() {
      users.clear();
      callOff?.();
      const last = ws;
      ws = undefined;
      isOpen = false;
      last?.close?.();
    },
  };
}
