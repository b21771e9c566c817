// What a person does with a run: says yes or no to a call, looks at what changed, takes it back, branches off.

import { invalid } from './errors.js';
import { isObject, objectInput, optionalText, present, requiredText, uniqueTexts } from './input.js';

const REMEMBER = ['once', 'run', 'always'];
const SCOPES = ['workspace', 'committed-message'];

export function createOversight(backend) {
  return {
    async approveToolCall(input) {
      objectInput(input, 'approveToolCall', 'runId is required');
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        callId: requiredText(input.callId, 'callId'),
        approved: input.approved,
        reason: optionalText(input.reason),
        remember: oneOf(input.remember, REMEMBER, 'remember'),
        arguments: input.arguments ?? undefined,
        approvalId: optionalText(input.approvalId),
      };
      if (typeof dto.approved !== 'boolean') throw invalid('approved must be a boolean');
      if (dto.arguments !== undefined && !isObject(dto.arguments)) throw invalid('arguments must be an object');
      return backend.send('approve_agent_tool_call', present(dto));
    },

    async readDiff(input) {
      objectInput(input, 'readDiff', 'runId is required');
      if (input.paths !== undefined && input.paths !== null && !Array.isArray(input.paths)) {
        throw invalid('paths must be an array');
      }
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        fromCheckpointId: optionalText(input.fromCheckpointId),
        toCheckpointId: optionalText(input.toCheckpointId),
        paths: input.paths ? uniqueTexts(input.paths) : undefined,
      };
      return backend.send('read_agent_run_diff', present(dto));
    },

    async rollback(input) {
      objectInput(input, 'rollback', 'runId is required');
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        checkpointId: requiredText(input.checkpointId, 'checkpointId'),
        scope: oneOf(input.scope, SCOPES, 'scope'),
        reason: optionalText(input.reason),
      };
      return backend.send('rollback_agent_run', present(dto));
    },

    /** Without a checkpoint: from where the run is now. */
    async fork(input) {
      objectInput(input, 'fork', 'runId is required');
      const dto = {
        runId: requiredText(input.runId, 'runId'),
        checkpointId: optionalText(input.checkpointId),
        text: optionalText(input.text),
        profileId: optionalText(input.profileId ?? input.profile_id),
      };
      return backend.send('fork_agent_run', present(dto));
    },
  };
}

function oneOf(value, allowed, name) {
  if (value === undefined || value === null) return undefined;
  if (!allowed.includes(value)) throw invalid(`${name} must be one of: ${allowed.join(', ')}`);
  return value;
}
