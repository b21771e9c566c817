// What a start may say beside its prompt: options, presentation, scopes of skills, the memory to begin with. Pure.

import { invalid } from './errors.js';
import { isObject, present, trimmed } from './input.js';

const PRESENTATIONS = ['foreground', 'background'];

/** The presentation beside the options wins over the one among them. */
export function startOptions(input) {
  const { options = {} } = input;
  if (!isObject(options)) throw invalid('options must be an object', 'agent.options_invalid');
  if (Object.hasOwn(options, 'autoCommit')) {
    const text = 'autoCommit is gone: a run publishes with workspace.commit';
    throw invalid(text, 'agent.auto_commit_removed');
  }
  const wanted = [input.presentation, options.presentation].filter((value) => value !== undefined && value !== null);
  if (wanted.length === 0) return { ...options };
  const bad = wanted.find((value) => !PRESENTATIONS.includes(value));
  if (bad !== undefined) {
    throw invalid(`presentation must be foreground or background, not '${bad}'`, 'agent.presentation_invalid');
  }
  return { ...options, presentation: wanted[0] };
}

export function skillScopeRefs(input) {
  const refs = input.skillScopeRefs ?? input.skill_scope_refs;
  if (refs === undefined || refs === null) return undefined;
  if (!isObject(refs)) throw invalid('skillScopeRefs must be an object', 'agent.skill_scope_refs_invalid');
  const characterId = refs.characterId ?? refs.character_id;
  return present({
    preset: refs.preset === undefined || refs.preset === null ? undefined : presetScope(refs.preset),
    characterId: characterId === undefined || characterId === null ? undefined : trimmed(characterId),
  });
}

function presetScope(preset) {
  const ref = presetRef(preset);
  if (ref === undefined) {
    throw invalid('skillScopeRefs.preset requires apiId and name', 'agent.skill_scope_refs_preset_invalid');
  }
  return ref;
}

/** `{apiId, name}`, or nothing where one of them is missing. */
export function presetRef(value) {
  if (!isObject(value)) return undefined;
  const [apiId, name] = [trimmed(value.apiId ?? value.api_id), trimmed(value.name)];
  return apiId === '' || name === '' ? undefined : { apiId, name };
}

export function persistBaseStateId(value) {
  if (value === undefined || value === null) return value;
  const id = trimmed(value);
  if (id === '') throw invalid('persistBaseStateId cannot be empty', 'agent.persist_base_state_id_empty');
  return id;
}
