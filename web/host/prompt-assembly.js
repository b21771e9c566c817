// How the prompt of a run comes to be: the backend says whether the tavern's own prompt is taken, or one is built here from
// what was frozen of the chat with the preset and model of the profile.

import { invalid } from './errors.js';
import { isObject, objectInput, optionalText, present, requiredText } from './input.js';
import { buildPayload } from './prompt-builder.js';

export const CURRENT_PROMPT = 'currentPromptSnapshot';
export const BUILT_PROMPT = 'frontendPromptAssembly';

const PAYLOAD_NAMES = ['chatCompletionPayload', 'chat_completion_payload', 'generateData', 'generate_data'];

/** @param {{ backend: object, tavern: () => object | undefined }} parts */
export function createPromptAssembly({ backend, tavern }) {
  const presetOf = createPresetReader(tavern);
  return {
    async prepare(input) {
      objectInput(input, 'promptAssembly.prepare', 'agent.frozen_run_input_snapshot_required');
      const dto = {
        profileId: optionalText(input.profileId ?? input.profile_id),
        generationType: optionalText(input.generationType),
        frozenRunInputSnapshot: frozenSnapshot(input.frozenRunInputSnapshot),
        jsonSchema: input.jsonSchema ?? undefined,
      };
      return backend.send('prepare_agent_prompt_assembly', present(dto));
    },

    /**
     * Asks nobody. With `request` (from `prepare`) the prompt is built, by the tavern if it can (`assemblePrompt`);
     * without, `chatCompletionPayload` is the prompt.
     */
    async buildSnapshot(input) {
      objectInput(input, 'promptAssembly.buildSnapshot');
      const frozenRunInputSnapshot = frozenSnapshot(
        input.frozenRunInputSnapshot ?? input.request?.frozenRunInputSnapshot,
      );
      const isBuilt = isObject(input.request) && input.mode !== CURRENT_PROMPT;
      const payload = isBuilt ? await built(input.request, frozenRunInputSnapshot) : seed(input);
      const policy = input.contextPolicy ?? input.request?.contextPolicy ?? input.assembly?.contextPolicy;
      const activation = input.worldInfoActivation ?? frozenRunInputSnapshot.worldInfoActivation;
      const isTold = policy?.includeActivatedWorldInfo !== false;
      return {
        promptSnapshot: present({
          chatCompletionPayload: payload,
          contextPolicy: policy,
          worldInfoActivation: isTold ? (activation ?? undefined) : undefined,
        }),
        frozenRunInputSnapshot,
        generationIntent: input.generationIntent,
        assembly: input.assembly ?? { mode: isBuilt ? BUILT_PROMPT : CURRENT_PROMPT },
      };
    },
  };

  async function built(asked, frozen) {
    const assemble = tavern()?.assemblePrompt;
    const request = isObject(asked.settings) ? asked : { ...asked, settings: presetOf(asked.preset) };
    if (typeof assemble !== 'function') return buildPayload({ ...request, frozenRunInputSnapshot: frozen });
    const payload = await assemble({ ...request, frozenRunInputSnapshot: frozen });
    if (!isObject(payload) || !Array.isArray(payload.messages)) {
      throw invalid('assemblePrompt must answer with a payload that has messages', 'agent.prompt_snapshot_messages_required');
    }
    return payload;
  }
}

/** A preset is the tavern's: the backend knows it by name only. */
function createPresetReader(tavern) {
  return function presetOf(preset) {
    if (!isObject(preset)) return undefined;
    const manager = tavern()?.getPresetManager?.(preset.apiId);
    const found = manager?.getCompletionPresetByName?.(preset.name);
    if (isObject(found)) return found;
    throw invalid(`the tavern has no preset '${preset.name}' of '${preset.apiId}'`, 'agent.profile_preset_missing');
  };
}

function frozenSnapshot(value) {
  if (value === undefined || value === null) {
    throw invalid('frozenRunInputSnapshot is required', 'agent.frozen_run_input_snapshot_required');
  }
  if (!isObject(value)) {
    throw invalid('frozenRunInputSnapshot must be an object', 'agent.frozen_run_input_snapshot_invalid');
  }
  return value;
}

function seed(input) {
  const name = PAYLOAD_NAMES.find((key) => isObject(input[key]));
  if (name !== undefined) return input[name];
  if (Array.isArray(input.messages)) return { ...input.generationParameters, messages: input.messages };
  throw invalid('chatCompletionPayload is required', 'agent.current_prompt_snapshot_seed_required');
}

/**
 * The host's half: the run asks for the prompt of an agent, and gets it or the reason why not.
 * @returns a handler of events
 */
export function createPromptAssemblyBridge({ backend, promptAssembly }) {
  const handled = new Set();

  return async function onPromptAssemblyRequested(runId, payload) {
    const assemblyId = requiredText(payload?.assemblyId, 'assemblyId', 'agent.host_payload_invalid');
    if (handled.has(assemblyId)) return;
    handled.add(assemblyId);
    let answer;
    try {
      const told = await backend.send('read_agent_prompt_assembly_request', { runId, assemblyId });
      const request = isObject(told?.request) ? told.request : told;
      if (!isObject(request)) throw invalid('there is no request to be read', 'agent.prompt_assembly_request_missing');
      const { promptSnapshot, assembly } = await promptAssembly.buildSnapshot({ request, assembly: told.assembly });
      answer = { promptSnapshot, assembly };
    } catch (error) {
      answer = { error: error.message };
    }
    await backend.send('resolve_agent_prompt_assembly', { runId, assemblyId, ...answer });
  };
}
