// A prompt from what was frozen of a chat, in the order and with the texts of a chat-completion preset. Pure: the frozen
// snapshot is never changed, and the same request gives the same prompt.

import { invalid } from './errors.js';
import { isObject } from './input.js';

const KIND = 'tauritavern.agentPromptAssemblyRequest';
const DEFAULT_ORDER = [
  'main',
  'worldInfoBefore',
  'personaDescription',
  'charDescription',
  'charPersonality',
  'scenario',
  'worldInfoAfter',
  'dialogueExamples',
  'chatHistory',
  'jailbreak',
];
// Where presets keep what providers call otherwise.
const SETTINGS = {
  temp_openai: 'temperature',
  temperature: 'temperature',
  top_p_openai: 'top_p',
  top_p: 'top_p',
  top_k_openai: 'top_k',
  top_k: 'top_k',
  min_p_openai: 'min_p',
  min_p: 'min_p',
  freq_pen_openai: 'frequency_penalty',
  frequency_penalty: 'frequency_penalty',
  pres_pen_openai: 'presence_penalty',
  presence_penalty: 'presence_penalty',
  repetition_penalty_openai: 'repetition_penalty',
  repetition_penalty: 'repetition_penalty',
  openai_max_tokens: 'max_tokens',
  max_tokens: 'max_tokens',
  seed: 'seed',
  reasoning_effort: 'reasoning_effort',
  chat_completion_source: 'chat_completion_source',
  model: 'model',
};

/** Generation parameters of a preset, under the names of a payload. */
export function generationParameters(settings) {
  const chosen = {};
  for (const [from, to] of Object.entries(SETTINGS)) {
    const value = settings?.[from];
    if (value !== undefined && value !== null && value !== '') chosen[to] = value;
  }
  return chosen;
}

export function buildPayload(request) {
  const frozen = request.frozenRunInputSnapshot;
  check(request, frozen);
  const settings = isObject(request.settings) ? request.settings : {};
  const inputs = frozen.promptInputs;
  const fill = macros(frozen.macroContext);
  const policy = { initialChatHistoryMessages: -1, includeActivatedWorldInfo: true, ...request.contextPolicy };
  const prompts = new Map((settings.prompts ?? []).map((prompt) => [prompt.identifier, prompt]));
  const order = orderOf(settings).map((identifier) => ({ ...prompts.get(identifier), identifier }));
  const isInChat = (prompt) => prompt.injection_position === 1;
  const history = withInjected(
    chatHistory(inputs.messages, policy.initialChatHistoryMessages),
    order.filter(isInChat).map((prompt) => ({ depth: prompt.injection_depth, ...message(prompt, fill, prompt.content) })),
  );
  const messages = order
    .filter((prompt) => !isInChat(prompt))
    .flatMap((prompt) => {
      if (prompt.identifier === 'chatHistory') return history;
      return [message(prompt, fill, prompt.content || marker(prompt.identifier, inputs, policy))];
    })
    .filter(({ content }) => content !== '');
  const model = request.model?.modelId;
  return { ...generationParameters(settings), ...(model ? { model } : {}), messages };
}

function message(prompt, fill, text) {
  return { role: prompt.role || 'system', content: fill(text).trim() };
}

function check(request, frozen) {
  if (request.kind !== undefined && request.kind !== KIND) {
    throw invalid('the request is of another kind', 'agent.prompt_assembly_request_missing');
  }
  if (!isObject(frozen.promptInputs)) {
    throw invalid('promptInputs is required', 'agent.frozen_run_input_prompt_inputs_required');
  }
  const { generationType } = request;
  if (generationType !== undefined && frozen.generationType !== undefined && generationType !== frozen.generationType) {
    throw invalid('the snapshot is of another generation type', 'prompt_assembly.generation_type_mismatch');
  }
}

function orderOf(settings) {
  const lists = settings.prompt_order;
  const chosen = Array.isArray(lists) ? (lists.find((list) => list.character_id === 100001) ?? lists.at(-1)) : undefined;
  const order = Array.isArray(chosen?.order) ? chosen.order : undefined;
  return order ? order.filter((entry) => entry.enabled !== false).map((entry) => entry.identifier) : DEFAULT_ORDER;
}

/** What the tavern puts into the places that a preset only names. */
function marker(identifier, inputs, policy) {
  const isWorldInfo = identifier.startsWith('worldInfo');
  if (isWorldInfo && !policy.includeActivatedWorldInfo) return '';
  const value = inputs[identifier] ?? (identifier === 'dialogueExamples' ? inputs.messageExamples : undefined);
  if (Array.isArray(value)) return value.map((part) => (isObject(part) ? (part.content ?? '') : String(part))).join('\n');
  return typeof value === 'string' ? value : '';
}

/** Oldest first; -1 is all, 0 none, N the newest. The snapshot has the newest first. */
function chatHistory(given, count) {
  const newestFirst = Array.isArray(given) ? given : [];
  const kept = count < 0 ? newestFirst : newestFirst.slice(0, count);
  return [...kept].reverse().map((entry) => ({
    role: entry.role ?? roleOf(entry),
    content: entry.content ?? entry.mes ?? '',
  }));
}

function roleOf(message) {
  if (message.is_user) return 'user';
  return message.is_system ? 'system' : 'assistant';
}

/** Each at its depth, counted from the newest message of the chat. */
function withInjected(history, injected) {
  const before = Array.from({ length: history.length + 1 }, () => []);
  for (const { depth, ...entry } of injected) {
    const steps = Number.isInteger(depth) && depth >= 0 ? depth : 4;
    before[Math.max(0, history.length - steps)].push(entry);
  }
  return before.flatMap((entries, index) => [...entries, ...history.slice(index, index + 1)]);
}

function macros(context) {
  const names = context?.names ?? {};
  return (text) =>
    String(text ?? '').replace(/\{\{(user|char)\}\}/gi, (whole, name) => names[name.toLowerCase()] ?? whole);
}
