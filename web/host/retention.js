// How much is kept of runs that are over. The settings lie among those of the tavern, in snake_case.

import { invalid } from './errors.js';
import { integerWithin, isObject, objectInput, present } from './input.js';

const MOST_RUNS = 10_000;
const MOST_DETAILS = 1_000;
const DEFAULTS = { autoPruneEnabled: false, keepRecentTerminalRuns: 100, keepFullRecentRuns: 20 };
const STORED = {
  autoPruneEnabled: 'auto_prune_enabled',
  keepRecentTerminalRuns: 'keep_recent_terminal_runs',
  keepFullRecentRuns: 'keep_full_recent_runs',
};

export function createRetention(backend) {
  return {
    async readSettings() {
      const stored = storedIn(await backend.ask('get_tauritavern_settings'));
      return { ...DEFAULTS, ...shown(stored ?? {}) };
    },

    /** @returns all settings, where the backend answers with them */
    async updateSettings(patch) {
      const checked = settings(objectInput(patch, 'retention.updateSettings'));
      const retention = Object.fromEntries(Object.entries(checked).map(([key, value]) => [STORED[key], value]));
      const stored = storedIn(await backend.send('update_tauritavern_settings', { agent: { retention } }));
      return stored && { ...DEFAULTS, ...shown(stored) };
    },

    async planPrune(input = {}) {
      return backend.send('plan_agent_run_prune', pruneRequest(input, 'retention.planPrune'));
    },

    async applyPrune(input = {}) {
      return backend.send('apply_agent_run_prune', pruneRequest(input, 'retention.applyPrune'));
    },
  };
}

function pruneRequest(input, method) {
  objectInput(input, method);
  const dto = {};
  if (input.retention !== undefined && input.retention !== null) {
    dto.retention = settings(objectInput(input.retention, `${method} retention`));
  }
  if (input.detailLimit !== undefined && input.detailLimit !== null) {
    const limit = number(input.detailLimit);
    if (!integerWithin(limit, 0, MOST_DETAILS)) {
      const text = `detailLimit must be an integer between 0 and ${MOST_DETAILS}`;
      throw invalid(text, 'agent.run_prune_detail_limit_invalid');
    }
    dto.detailLimit = limit;
  }
  return dto;
}

/** Only what was given, checked, in camelCase. */
function settings(given) {
  const value = (key) => given[key] ?? given[STORED[key]] ?? undefined;
  const auto = value('autoPruneEnabled');
  if (auto !== undefined && typeof auto !== 'boolean') {
    throw invalid('autoPruneEnabled must be a boolean', 'agent.retention_auto_prune_enabled_invalid');
  }
  const recent = count(value('keepRecentTerminalRuns'), 'keepRecentTerminalRuns');
  const full = count(value('keepFullRecentRuns'), 'keepFullRecentRuns');
  if (recent !== undefined && full !== undefined && full > recent) {
    const text = 'keepFullRecentRuns must not be greater than keepRecentTerminalRuns';
    throw invalid(text, 'agent.retention_keep_full_recent_runs_invalid');
  }
  return present({ autoPruneEnabled: auto, keepRecentTerminalRuns: recent, keepFullRecentRuns: full });
}

function count(value, name) {
  if (value === undefined) return undefined;
  const given = number(value);
  if (!integerWithin(given, 0, MOST_RUNS)) {
    throw invalid(`${name} must be an integer between 0 and ${MOST_RUNS}`, `agent.retention_${STORED[name]}_invalid`);
  }
  return given;
}

/** Forms hand in texts. */
function number(value) {
  if (typeof value === 'string' && value.trim() !== '') return Number(value);
  return value;
}

function storedIn(answer) {
  const retention = answer?.agent?.retention;
  return isObject(retention) ? retention : undefined;
}

function shown(stored) {
  const entries = Object.entries(STORED).map(([key, name]) => [key, stored[name] ?? stored[key]]);
  return present(Object.fromEntries(entries));
}
