// Starting a run with a prompt that the caller has: check, look up the profile, start, attach the bridges.

import { invalid } from './errors.js';
import { isObject, objectInput, trimmed } from './input.js';
import { selectedPreset } from './selected-preset.js';
import { persistBaseStateId, skillScopeRefs, startOptions } from './start-input.js';

export const DEFAULT_PROFILE = 'default-writer';

/**
 * @param {{ backend: object, identity: object, tavern: () => object | undefined, hasTavern: boolean, api: () => object,
 *           attach: (handle: object, started: object) => void }} parts
 */
export function createStart({ backend, identity, tavern, hasTavern, api, attach }) {
  return async function startRunWithPromptSnapshot(input) {
    objectInput(input, 'startRunWithPromptSnapshot', 'chatRef is required');
    const chatRef = await identity.chatRef(input.chatRef);
    const stableChatId = await identity.stableChatId(input.stableChatId, chatRef);
    const options = startOptions(input);
    const scopes = skillScopeRefs(input);
    const baseStateId = persistBaseStateId(input.persistBaseStateId);
    const profile = await loadProfile(input);
    const dto = {
      ...cleaned(input),
      chatRef,
      stableChatId,
      skillScopeRefs: withPreset(scopes, profile),
      persistBaseStateId: baseStateId,
      options,
    };
    await materialiseModel(profile);
    const handle = await backend.send('start_agent_run', dto);
    attach(handle, dto);
    return handle;
  };

  async function loadProfile(input) {
    const profileId = trimmed(input.profileId ?? input.profile_id) || DEFAULT_PROFILE;
    const answer = await backend.send('load_agent_profile', { profileId });
    if (!isObject(answer?.profile)) {
      throw invalid(`there is no profile '${profileId}'`, 'agent.profile_not_found', { profileId });
    }
    return answer.profile;
  }

  /** A profile that goes with the tavern's prompt is seen with the skills of the tavern's preset. */
  function withPreset(scopes, profile) {
    if (profile.preset?.mode !== 'currentPromptSnapshot' || scopes?.preset || !hasTavern) return scopes;
    return { ...scopes, preset: selectedPreset(tavern()) };
  }

  /** A model that only the page's connection manager knows has to be a connection before the run asks for it. */
  async function materialiseModel(profile) {
    if (profile.model?.mode !== 'connectionRef') return;
    const materialise = tavern()?.materializeModelTarget;
    if (typeof materialise !== 'function') return;
    const connection = await materialise(profile.model.connectionRef, { modelId: profile.model.modelId });
    if (isObject(connection)) await api().llmConnections?.save?.(connection);
  }
}

/** The caller's own keys, under the names that the backend knows. */
function cleaned(input) {
  const { profile_id: profileId, skill_scope_refs: _, ...rest } = input;
  if (profileId !== undefined && rest.profileId === undefined) rest.profileId = profileId;
  if (typeof rest.profileId === 'string') rest.profileId = rest.profileId.trim();
  if (typeof rest.generationType === 'string') rest.generationType = rest.generationType.trim();
  return rest;
}
