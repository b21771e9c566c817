// Profiles of agents: what they are is the backend's business, this is how a page asks for them.

import { invalid } from './errors.js';
import { isObject, optionalText, requiredText } from './input.js';
import { presetRef } from './start-input.js';

export const PROFILES_CHANGED = 'tauritavern-agent-profiles-changed';

/** @param {{ backend: object, win: object }} parts */
export function createProfiles({ backend, win }) {
  /** Only after the backend has said yes. */
  async function changing(command, dto) {
    const result = await backend.send(command, dto);
    announce(win);
    return result;
  }

  return {
    async list() {
      return backend.ask('list_agent_profiles');
    },
    async load(input) {
      return backend.send('load_agent_profile', { profileId: profileIdOf(input) });
    },
    async diagnose(input) {
      return backend.send('diagnose_agent_profile', { profileId: profileIdOf(input) });
    },
    async resolveSystemPrompt(input) {
      const profileId = optionalText(isObject(input) ? (input.profileId ?? input.profile_id) : input);
      return backend.send('resolve_agent_system_prompt', profileId === undefined ? {} : { profileId });
    },
    async save(input) {
      const profile = isObject(input) && Object.hasOwn(input, 'profile') ? input.profile : input;
      if (!isObject(profile)) throw invalid('profile must be an object', 'agent.profile_required');
      await changing('save_agent_profile', { profile });
    },
    async delete(input) {
      await changing('delete_agent_profile', { profileId: profileIdOf(input) });
    },
    async retargetPresetRefs(input) {
      const code = 'agent.profile_preset_retarget_input_invalid';
      const side = (name) => {
        const ref = presetRef(isObject(input) ? input[name] : undefined);
        if (!ref) throw invalid(`${name} requires apiId and name`, code);
        return ref;
      };
      return changing('retarget_agent_profile_preset_refs', { from: side('from'), to: side('to') });
    },
    async repairFile(input) {
      if (!isObject(input)) {
        const text = 'Agent repairFile input must be an object: profileId is required';
        throw invalid(text, 'agent.profile_repair_input_invalid');
      }
      const profileId = profileIdOf(input);
      if (input.action !== 'delete' && input.action !== 'normalizeIdentity') {
        const text = 'repair action must be delete or normalizeIdentity';
        throw invalid(text, 'agent.profile_repair_action_invalid');
      }
      await changing('repair_agent_profile_file', { profileId, action: input.action });
    },
  };
}

function profileIdOf(input) {
  const given = isObject(input) ? (input.profileId ?? input.profile_id) : input;
  return requiredText(given, 'profileId', 'agent.profile_required');
}

function announce(win) {
  if (typeof win?.dispatchEvent !== 'function') return;
  const Kind = win.CustomEvent ?? globalThis.CustomEvent ?? globalThis.Event;
  win.dispatchEvent(new Kind(PROFILES_CHANGED));
}
