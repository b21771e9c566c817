// Starting a run from the tavern's own generation: it is run without asking the model, and what it would have sent is
// the prompt. That is no pure reading: the tavern's events fire and world info is scanned.

import { invalid } from './errors.js';
import { deepMerge, isObject, objectInput, optionalText, present, trimmed } from './input.js';
import { isSameChat } from './chat-ref.js';
import { BUILT_PROMPT } from './prompt-assembly.js';
import { generationParameters } from './prompt-builder.js';
import { startOptions } from './start-input.js';
import { activationOf } from './world-info.js';

const EVENTS = {
  GENERATION_STARTED: 'generation_started',
  GENERATE_AFTER_DATA: 'generate_after_data',
  WORLDINFO_SCAN_DONE: 'worldinfo_scan_done',
};
// Taverns make prompts of their own now and then, and their events do not say whose they are.
const MOST_TRIES = 3;
// What a tavern needs to reach its own provider, and nobody else may see.
const SECRETS = ['proxy_password', 'custom_include_headers', 'custom_include_body', 'custom_exclude_body'];

/** @param {{ tavern: Function, identity: object, promptAssembly: object, start: Function, now: () => number }} parts */
export function createLegacyGenerate({ tavern, identity, promptAssembly, start, now }) {
  return async function startRunFromLegacyGenerate(input = {}) {
    objectInput(input, 'startRunFromLegacyGenerate');
    const { generateOptions: given, generate_options: _, ...rest } = input;
    const generateOptions = given ?? {};
    if (given === null || !isObject(generateOptions)) {
      throw invalid('generateOptions must be an object', 'agent.generate_options_invalid');
    }
    // Before the tavern is bothered.
    startOptions(input);
    const generationType = trimmed(input.generationType) || 'normal';
    const context = tavern();
    if (mainApi(context) !== 'openai' || typeof generateOf(context) !== 'function') {
      const text = 'choose a chat-completion source: an agent needs messages';
      throw invalid(text, 'agent.phase2b_chat_completion_required');
    }
    await checkActive(input.chatRef);
    const captured = await capture(context, generationType, generateOptions, now);
    const chatCompletionPayload = await payloadOf(captured.data, context, generationType);
    const frozenRunInputSnapshot = isObject(input.frozenRunInputSnapshot)
      ? input.frozenRunInputSnapshot
      : frozenOf(context, generationType, chatCompletionPayload, captured.activation);
    const intent = { source: 'legacyGenerate', generationType, generateOptions: plain(generateOptions) };
    const prepared = await promptAssembly.prepare({
      profileId: optionalText(input.profileId ?? input.profile_id),
      generationType,
      frozenRunInputSnapshot,
      jsonSchema: generateOptions.jsonSchema ?? undefined,
    });
    const built = await promptAssembly.buildSnapshot({
      mode: prepared?.mode,
      request: prepared?.mode === BUILT_PROMPT ? prepared.request : undefined,
      assembly: prepared?.assembly,
      contextPolicy: prepared?.contextPolicy ?? prepared?.request?.contextPolicy,
      chatCompletionPayload,
      worldInfoActivation: captured.activation,
      frozenRunInputSnapshot,
      generationIntent: deepMerge(intent, input.generationIntent),
    });
    return start({
      ...rest,
      generationType,
      promptSnapshot: built.promptSnapshot,
      frozenRunInputSnapshot: built.frozenRunInputSnapshot,
      generationIntent: built.generationIntent,
    });
  };

  /** The tavern can only generate for the chat that is open. */
  async function checkActive(given) {
    const current = isObject(given) ? await identity.currentRef() : undefined;
    if (current !== undefined && !isSameChat(current, given)) {
      throw invalid('chatRef must be the chat that is open', undefined, { reason: 'agent.active_chat_required' });
    }
  }
}

const mainApi = (context) => context?.mainApi ?? context?.main_api;
const generateOf = (context) => context?.generate ?? context?.Generate;

/** Until nobody else was making a prompt at the same time. */
async function capture(context, generationType, options, now) {
  for (let turn = 0; turn < MOST_TRIES; turn += 1) {
    const captured = await dryRun(context, generationType, withSignal(options), now);
    if (captured.started < 2) return captured;
  }
  const text = 'the tavern was making prompts of its own all the time; try again';
  throw invalid(text, 'agent.prompt_snapshot_missing');
}

/** Without one, a generation inside another takes over how the outer one is stopped. It is nothing to be looked at. */
function withSignal(options) {
  if (options.signal !== undefined) return options;
  return Object.defineProperty({ ...options }, 'signal', { value: new AbortController().signal, enumerable: false });
}

/** Generates without asking the model, and listens to what would have been sent. */
async function dryRun(context, generationType, options, now) {
  const source = context.eventSource;
  const names = context.eventTypes ?? context.event_types ?? {};
  const captured = { started: 0 };
  const listeners = [
    [names.GENERATION_STARTED ?? EVENTS.GENERATION_STARTED, onStarted],
    [names.GENERATE_AFTER_DATA ?? EVENTS.GENERATE_AFTER_DATA, onData],
    [names.WORLDINFO_SCAN_DONE ?? EVENTS.WORLDINFO_SCAN_DONE, onScan],
  ];
  function onStarted(_type, _options, isDryRun) {
    if (isDryRun === true) captured.started += 1;
  }
  function onData(data, isDryRun) {
    if (isDryRun === true && isObject(data)) captured.data = plain(data);
  }
  function onScan(scan) {
    captured.activation = activationOf(scan, generationType, now());
  }
  const leave = source?.removeListener ?? source?.off;
  for (const [name, listener] of listeners) source?.on?.(name, listener);
  try {
    await generateOf(context)(generationType, options, true);
  } finally {
    for (const [name, listener] of listeners) leave?.call(source, name, listener);
  }
  return captured;
}

async function payloadOf(data, context, generationType) {
  if (data === undefined) throw invalid('the tavern has not made a prompt', 'agent.prompt_snapshot_missing');
  const { prompt, ...others } = data;
  const messages = Array.isArray(data.messages) ? data.messages : prompt;
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid('the prompt of the tavern has no messages', 'agent.prompt_snapshot_messages_required');
  }
  if (Array.isArray(data.messages)) return withoutSecrets({ ...fromSettings(context), ...data });
  const request = await fullRequest(context, generationType, messages);
  return withoutSecrets({ ...(request ?? fromSettings(context)), ...others, messages });
}

/** What a tavern would send, if it brings the function that knows. */
async function fullRequest(context, generationType, messages) {
  const create = context.createGenerationParameters;
  if (typeof create !== 'function') return undefined;
  const model = context.getChatCompletionModel?.();
  const made = await create(context.chatCompletionSettings, model, generationType, messages);
  const request = made?.generate_data ?? made;
  return isObject(request) ? plain(request) : undefined;
}

/** A tavern that hands out nothing but messages has the rest among its settings. */
function fromSettings(context) {
  const settings = context.chatCompletionSettings;
  if (!isObject(settings)) return {};
  const model = context.getChatCompletionModel?.();
  return generationParameters({ ...settings, ...(model ? { model } : {}) });
}

function withoutSecrets(payload) {
  return Object.fromEntries(Object.entries(payload).filter(([key]) => !SECRETS.includes(key)));
}

function frozenOf(context, generationType, payload, activation) {
  const messages = (Array.isArray(context.chat) ? context.chat : [])
    .filter((message) => !message?.is_system)
    .map((message) => ({ role: message.is_user ? 'user' : 'assistant', name: message.name, content: message.mes }));
  return {
    schemaVersion: 1,
    kind: 'tauritavern.agentFrozenRunInputSnapshot',
    generationType,
    promptInputs: present({ type: generationType, messages: messages.reverse(), ...cardOf(context) }),
    worldInfoActivation: activation ?? { entries: [] },
    macroContext: { names: present({ user: context.name1, char: context.name2 }) },
    model: present({ source: payload.chat_completion_source, modelId: payload.model }),
  };
}

function cardOf(context) {
  const card = typeof context.getCharacterCardFields === 'function' ? context.getCharacterCardFields() : undefined;
  if (!isObject(card)) return {};
  return {
    charDescription: card.description,
    charPersonality: card.personality,
    scenario: card.scenario,
    personaDescription: card.persona,
    messageExamples: card.mesExamples,
    main: card.system || undefined,
    jailbreak: card.jailbreak || undefined,
  };
}

/** A copy of what can be sent: functions, signals and elements of the page cannot. */
function plain(value, above = []) {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') return undefined;
  if (value === null || typeof value !== 'object') return value;
  if (above.includes(value)) return undefined;
  if (typeof value.toJSON === 'function') return value.toJSON();
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((part) => plain(part, path) ?? null);
  const copy = present(Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part, path)])));
  const isEmptyThing = Object.keys(copy).length === 0 && Object.getPrototypeOf(value) !== Object.prototype;
  return isEmptyThing && above.length > 0 ? undefined : copy;
}
