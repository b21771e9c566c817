// What tests share: a window of their own, a clock that they turn by hand, a tavern that keeps its chat in an array.

import { createHash } from 'node:crypto';
import { createDoubleTransport } from '../transports/double.js';
import { installAgentApi } from '../index.js';

export const CHAT = { kind: 'character', characterId: 'mira', fileName: 'evening' };

/** Lets everything that is ready happen. */
export async function settle(turns = 5) {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export function createManualClock() {
  let now = 0;
  let nextId = 1;
  const pending = new Map();
  return {
    timers: {
      setTimeout(run, ms) {
        const id = nextId++;
        pending.set(id, { at: now + ms, ms, run });
        return id;
      },
      clearTimeout: (id) => pending.delete(id),
    },
    waits: () => [...pending.values()].map(({ ms }) => ms),
    async advance(ms) {
      const until = now + ms;
      for (;;) {
        await settle(3);
        const due = [...pending].filter(([, { at }]) => at <= until).sort(([, a], [, b]) => a.at - b.at)[0];
        if (!due) break;
        pending.delete(due[0]);
        now = due[1].at;
        due[1].run();
      }
      now = until;
      await settle(3);
    },
  };
}

export const WRITER = { id: 'default-writer', preset: { mode: 'none' }, model: { mode: 'currentPromptSnapshot' } };

/** An API in a window of its own (whose digests need no other thread), over a double that knows a profile and starts runs. */
export function install(handlers = {}, { chat = chatApi(), window = {}, push, ...context } = {}) {
  const clock = createManualClock();
  const double = createDoubleTransport(
    {
      load_agent_profile: { profile: WRITER },
      start_agent_run: { runId: 'run_1', status: 'created', workspaceId: 'ws', stableChatId: 'stable' },
      read_agent_run_events: { events: [] },
      list_agent_runs: { runs: [] },
      resolve_agent_chat_commit: undefined,
      resolve_agent_persistent_state_metadata_update: undefined,
      ...handlers,
    },
    { push },
  );
  const win = Object.assign(window, {
    crypto: { subtle: { digest: async (_name, bytes) => createHash('sha256').update(bytes).digest() } },
    __TAURITAVERN__: { ...window.__TAURITAVERN__, api: { chat } },
  });
  const agent = installAgentApi({
    invoke: double.invoke,
    window: win,
    timers: clock.timers,
    transport: push ? double : undefined,
    now: () => 1_700_000_000_000,
    onBridgeError: (error) => {
      throw error;
    },
    ...context,
  });
  return { agent, double, clock, win };
}

export function chatApi(ref = CHAT, stableId = 'stable') {
  return { current: { ref: () => ref }, open: () => ({ stableId: async () => stableId }) };
}

export const sha256 = (text) => createHash('sha256').update(text).digest('hex');

/** A tavern as the bridges see it. `saveReply` does what taverns do with its types. */
export function createTavern({ chat = [], ...more } = {}) {
  const log = [];
  const listeners = new Map();
  const context = {
    chat,
    log,
    mainApi: 'openai',
    eventTypes: { CHAT_CHANGED: 'chat_id_changed', GENERATE_AFTER_DATA: 'gad', WORLDINFO_SCAN_DONE: 'wisd' },
    eventSource: {
      on: (name, listener) => listeners.set(name, [...(listeners.get(name) ?? []), listener]),
      removeListener: (name, listener) =>
        listeners.set(name, (listeners.get(name) ?? []).filter((one) => one !== listener)),
    },
    emit: (name, ...args) => (listeners.get(name) ?? []).map((listener) => listener(...args)),
    listening: (name) => (listeners.get(name) ?? []).length,
    async saveReply({ type, getMessage }) {
      log.push(['saveReply', type, getMessage]);
      const last = chat.at(-1);
      if (type === 'append') last.mes += getMessage;
      else if (type === 'appendFinal') last.mes = getMessage;
      else if (type === 'swipe') {
        last.swipes = [...(last.swipes ?? [last.mes]), getMessage];
        last.swipe_info = last.swipes.map((_, index) => last.swipe_info?.[index] ?? { extra: {} });
        Object.assign(last, { swipe_id: last.swipes.length - 1, mes: getMessage, extra: {} });
      } else chat.push({ name: 'Mira', is_user: false, mes: getMessage, extra: {} });
    },
    async saveChat() {
      log.push(['saveChat']);
    },
    async deleteLastMessage() {
      chat.pop();
    },
    ...more,
  };
  return context;
}
