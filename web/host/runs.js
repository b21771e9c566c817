// One run or many: stopping, telling, listing, reading.

import { invalid } from './errors.js';
import { integerWithin, isObject, objectInput, optionalText, present, requiredText, runIdOf, trimmed } from './input.js';
import { plainChatRef } from './chat-ref.js';
import { RUN_STATUSES } from './run-status.js';
import { withTextMetrics } from './text-metrics.js';

const MOST_RUNS = 200;
const ISO = /^[+-]?\d{4,6}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

export function createRuns(backend) {
  return {
    async cancel(runId) {
      return backend.send('cancel_agent_run', { runId: runIdOf(runId) });
    },

    async submitGuidance(input) {
      objectInput(input, 'submitGuidance');
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        text: requiredText(input.text, 'guidance text'),
        clientGuidanceId: optionalText(input.clientGuidanceId),
      };
      return backend.send('submit_agent_run_guidance', present(dto));
    },

    async listRuns(input = {}) {
      return backend.send('list_agent_runs', runFilter(objectInput(input, 'listRuns')));
    },

    async readWorkspaceFile(input) {
      objectInput(input, 'readWorkspaceFile', 'runId is required');
      const dto = { runId: requiredText(input.runId, 'runId'), path: workspacePath(input.path) };
      return withTextMetrics(await backend.send('read_agent_workspace_file', dto));
    },

    async readModelTurn(input) {
      objectInput(input, 'readModelTurn', 'runId is required');
      const dto = { runId: requiredText(input.runId, 'runId'), round: input.round };
      if (!integerWithin(input.round, 1, Number.MAX_SAFE_INTEGER)) {
        throw invalid('round must be an integer of at least 1', 'agent.model_turn_round_invalid');
      }
      if (input.invocationId !== undefined && input.invocationId !== null) {
        const code = 'agent.model_turn_invocation_id_invalid';
        dto.invocationId = optionalText(input.invocationId);
        if (dto.invocationId === undefined) throw invalid('invocationId cannot be empty', code);
      }
      if (input.maxChars !== undefined && input.maxChars !== null) {
        if (!integerWithin(input.maxChars, 1, Number.MAX_SAFE_INTEGER)) {
          throw invalid('maxChars must be an integer of at least 1', 'agent.model_turn_max_chars_invalid');
        }
        dto.maxChars = input.maxChars;
      }
      return backend.send('read_agent_model_turn', dto);
    },

    async readTaskDetail(input) {
      objectInput(input, 'readTaskDetail', 'runId is required');
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        taskId: requiredText(input.taskId, 'taskId'),
        includeResult: input.includeResult === undefined ? undefined : Boolean(input.includeResult),
      };
      return backend.send('read_agent_task_detail', present(dto));
    },

    async settleChatPresentation(input) {
      return backend.send('settle_agent_chat_presentation', { runId: runIdOf(input) });
    },
  };
}

function runFilter({ chatRef, stableChatId, statuses, before, limit }) {
  const dto = {};
  if (chatRef !== undefined) {
    if (!isObject(chatRef)) throw invalid('chatRef must be an object', 'agent.invalid_chat_ref');
    dto.chatRef = plainChatRef(chatRef);
  }
  const stable = optionalText(stableChatId);
  if (stable !== undefined) dto.stableChatId = stable;
  if (statuses !== undefined) dto.statuses = runStatuses(statuses);
  if (before !== undefined && before !== null) dto.before = cursor(before);
  if (limit !== undefined) {
    if (!integerWithin(limit, 1, MOST_RUNS)) {
      throw invalid(`limit must be an integer between 1 and ${MOST_RUNS}`, 'agent.run_history_limit_invalid');
    }
    dto.limit = limit;
  }
  return dto;
}

function runStatuses(statuses) {
  if (!Array.isArray(statuses)) throw invalid('statuses must be an array');
  const known = statuses.map((status) => {
    const name = trimmed(status);
    if (name === '') throw invalid('statuses contains an empty status');
    if (!RUN_STATUSES.includes(name)) throw invalid(`unknown agent run status: ${name}`);
    return name;
  });
  return [...new Set(known)];
}

function cursor(before) {
  const code = 'agent.run_history_cursor_invalid';
  if (!isObject(before)) throw invalid('before must be an object: before.runId is required', code);
  const runId = requiredText(before.runId, 'before.runId', code);
  const createdAt = timestamp(before.createdAt);
  if (createdAt === undefined) throw invalid('before.createdAt must be a valid timestamp', code);
  return { createdAt, runId };
}

/** UTC, with milliseconds. */
function timestamp(value) {
  let date;
  if (value instanceof Date) date = value;
  else if (typeof value === 'string' && ISO.test(value.trim())) date = new Date(value.trim());
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function workspacePath(value) {
  const path = requiredText(value, 'path');
  const isOutside =
    /^[\\/]/.test(path) || /^[A-Za-z]:/.test(path) || path.includes('\0') || path.split(/[\\/]/).includes('..');
  if (isOutside) {
    const text = 'path must be relative to the workspace, without a drive and without ".."';
    throw invalid(text, 'workspace.path_denied', { reason: 'workspace.invalid_path' });
  }
  return path;
}
