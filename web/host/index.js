// The host API of a tavern: `window.__TAURITAVERN__.api.agent`. This file puts it together; each subject has a file.

import { createBackend } from './backend.js';
import { canCommit } from './bridges/commit-rules.js';
import { createBridges } from './bridges/index.js';
import { capabilitiesOf } from './capabilities.js';
import { createChatIdentity } from './chat-identity.js';
import { createClock } from './clock.js';
import { createReadEvents } from './events.js';
import { guarded } from './guard.js';
import { isObject, runIdOf } from './input.js';
import { createLegacyGenerate } from './legacy-generate.js';
import { createSubscribeLiveProjection } from './live-projection.js';
import { findRunMessage } from './message-extra.js';
import { createOversight } from './oversight.js';
import { createPersistentStates } from './persistent-states.js';
import { createProfiles } from './profiles.js';
import { createPromptAssembly } from './prompt-assembly.js';
import { createResume } from './resume.js';
import { createRetention } from './retention.js';
import { hostRoot, invokeOf, windowNow } from './root.js';
import { createRuns } from './runs.js';
import { createSessions } from './sessions.js';
import { createStart } from './start.js';
import { createSubscribe } from './subscribe.js';
import { createTools } from './tools.js';

export { AgentApiError } from './errors.js';
export { installChatApi } from './chat.js';
export { agentExtraOf } from './message-extra.js';
export { RUN_STATUSES, TERMINAL_EVENTS, TERMINAL_STATUSES } from './run-status.js';
export { createHttpTransport } from './transports/http.js';
export { createDoubleTransport } from './transports/double.js';

const COMMIT_TIMEOUT_MS = 60_000;

/** Throws at once where there is nothing to call; see index.d.ts for what may be handed in. */
export function installAgentApi(context) {
  const invoke = invokeOf(context, 'installAgentApi');
  const win = context.window ?? windowNow();
  const root = hostRoot(win);
  const transport = pushOf(context, invoke);
  const clock = createClock(win, context.timers);
  const backend = createBackend(invoke);
  const tavern = tavernOf(context, win);
  const identity = createChatIdentity(() => root.api?.chat ?? undefined, tavern);

  const runs = createRuns(backend);
  const readEvents = createReadEvents(backend);
  const subscribe = createSubscribe({ readEvents, clock, push: transport.events });
  const background = createClock(win, context.timers, { isBackground: true });
  const promptAssembly = createPromptAssembly({ backend, tavern });
  const bridges = createBridges({
    backend,
    runs,
    readEvents,
    subscribe: createSubscribe({ readEvents, clock: background, push: transport.events }),
    identity,
    tavern,
    promptAssembly,
    clock: background,
    hasPush: transport.events !== undefined,
    timeoutMs: context.commitTimeoutMs ?? COMMIT_TIMEOUT_MS,
    crypto: win.crypto ?? globalThis.crypto,
    fetch: typeof win.fetch === 'function' ? (...args) => win.fetch(...args) : undefined,
    locks: win.navigator?.locks,
    onError: context.onBridgeError ?? ((error) => console.warn('[agent]', error)),
  });
  const attach = context.bridges === false ? () => {} : bridges.attach;
  const hasTavern = context.tavern !== null;
  const start = createStart({ backend, identity, tavern, hasTavern, api: () => root.api, attach });
  const oversight = createOversight(backend);
  const sessions = createSessions(backend);

  const agent = {
    ...guarded({
      startRunFromLegacyGenerate: createLegacyGenerate({
        tavern,
        identity,
        promptAssembly,
        start,
        now: context.now ?? Date.now,
      }),
      startRunWithPromptSnapshot: start,
      readEvents,
      ...runs,
      ...createPersistentStates({ backend, identity, canPruneGroups: transport.canPruneGroups }),
      ...createResume({ backend, attach, lastReply: (runId) => lastReply(tavern(), runId) }),
      ...oversight,
      async rollback(input) {
        const receipt = await oversight.rollback(input);
        const run = { runId: runIdOf(input), chatRef: await identity.currentRef() };
        if (canCommit(tavern())) await bridges.withdrawFrom(run, receipt);
        return receipt;
      },
      async fork(input) {
        const handle = await oversight.fork(input);
        attach(handle);
        return handle;
      },
    }),
    subscribe,
    subscribeLiveProjection: createSubscribeLiveProjection({ clock, pushLive: transport.live }),
    profiles: guarded(createProfiles({ backend, win })),
    retention: guarded(createRetention(backend)),
    tools: guarded(createTools(backend)),
    promptAssembly: guarded(promptAssembly),
    sessions: { ...guarded(omitProfile(sessions)), profile: guarded(sessions.profile) },
    bridge: Object.freeze({
      ...guarded({ offerAgain: bridges.offerAgain }),
      detach: bridges.detach,
      detachAll: bridges.detachAll,
      attachedRuns: bridges.attachedRuns,
    }),
    capabilities: capabilitiesOf(transport),
  };
  // One that was there before does nothing for runs any more.
  root.api.agent?.bridge?.detachAll?.();
  root.api.agent = agent;
  if ((root.ready === undefined || root.ready === null) && Object.isExtensible(root)) root.ready = Promise.resolve(root);
  if (context.bridges !== false) offerAgainWhenReady({ root, tavern, bridges, clock });
  return agent;
}

/** A function, an object, none (null), or the tavern of the page; looked up at each use, since its parts change. */
function tavernOf(context, win) {
  const { tavern } = context;
  if (tavern === null) return () => undefined;
  if (typeof tavern === 'function') return () => tavern() ?? undefined;
  if (isObject(tavern)) return () => tavern;
  return () => {
    try {
      return (win.SillyTavern ?? globalThis.SillyTavern)?.getContext?.() ?? undefined;
    } catch {
      // It is there, and not yet ready to be asked.
      return undefined;
    }
  };
}

/** What the transport can do beside calling. */
function pushOf({ transport = {} }, invoke) {
  const events = transport.subscribeEvents ?? invoke.subscribe;
  const live = transport.subscribeLive ?? invoke.subscribeLive;
  const abilities = transport.capabilities ?? invoke.capabilities ?? {};
  const isFunction = (value) => typeof value === 'function';
  return {
    events: isFunction(events) ? (...args) => events(...args) : undefined,
    live: isFunction(live) ? (...args) => live(...args) : undefined,
    hasPush: isFunction(events),
    hasLive: isFunction(live),
    canPruneGroups: abilities.groupPersistentStates === true,
  };
}

function omitProfile({ profile: _, ...methods }) {
  return methods;
}

function lastReply(context, runId) {
  const chat = Array.isArray(context?.chat) ? context.chat : [];
  const index = findRunMessage(chat, runId);
  return index === -1 ? undefined : chat[index].mes;
}

/** After a reload of the page, and whenever another chat is opened. */
function offerAgainWhenReady({ root, tavern, bridges, clock }) {
  let isListening = false;
  const offer = () => bridges.offerAgain().catch((error) => console.warn('[agent]', error));
  const look = () => {
    const context = tavern();
    if (isListening || !canCommit(context)) return;
    isListening = true;
    const names = context.eventTypes ?? context.event_types ?? {};
    context.eventSource?.on?.(names.CHAT_CHANGED ?? 'chat_id_changed', offer);
    clock.after(0, offer);
  };
  look();
  if (!isListening) Promise.resolve(root.ready).then(look, () => {});
}
