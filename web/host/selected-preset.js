// The preset that is selected in the tavern, as a reference.

import { invalid } from './errors.js';
import { presetRef } from './start-input.js';

// What stands for settings that were never saved as a preset.
const UNSAVED = 'gui';

/** @param {object | undefined} context the tavern's */
export function selectedPreset(context) {
  if (!context) {
    const text = 'the profile takes the selected preset, and there is no tavern on this page that has one';
    throw invalid(text, 'agent.current_preset_context_unavailable');
  }
  const manager = typeof context.getPresetManager === 'function' ? context.getPresetManager() : undefined;
  if (!manager) {
    const text = 'the tavern does not say which preset is selected';
    throw invalid(text, 'agent.current_preset_manager_unavailable');
  }
  const value = manager.getSelectedPreset?.();
  const name = manager.getSelectedPresetName?.() ?? value;
  if (value === UNSAVED || name === UNSAVED) {
    throw invalid('the selected preset is not saved under a name', 'agent.current_preset_unsaved');
  }
  const ref = presetRef({ apiId: manager.apiId, name });
  if (!ref) throw invalid('the selected preset has no apiId or no name', 'agent.current_preset_ref_invalid');
  return ref;
}
