// When a run's memory is kept, the message that it published says which state that is: the next run begins with it.

import { invalid, toAgentError } from '../errors.js';
import { trimmed } from '../input.js';
import { agentExtraOf, findRunMessage, withPersistState, writeExtra } from '../message-extra.js';

/** @param {{ backend: object, identity: object, tavern: Function }} parts */
export function createPersistentStateBridge({ backend, identity, tavern }) {
  const handled = new Map();

  return async function onUpdateRequested(runId, payload) {
    const updateId = payload?.updateId;
    if (handled.has(updateId) && !payload.offeredAgain) return handled.get(updateId);
    const done = answer(runId, updateId, payload);
    handled.set(updateId, done);
    return done;
  };

  async function answer(runId, updateId, payload) {
    let dto = { runId, updateId };
    try {
      await note(runId, payload);
    } catch (error) {
      dto = { ...dto, error: toAgentError(error).message };
    }
    await backend.send('resolve_agent_persistent_state_metadata_update', dto);
  }

  async function note(runId, payload) {
    if (trimmed(payload.updateId) === '' || trimmed(payload.stateId) === '') {
      throw invalid('the update has no updateId or no stateId', 'agent.host_payload_invalid');
    }
    if (!(await identity.isCurrent(payload.chatRef, payload.stableChatId))) {
      throw invalid('the chat of the run is not the one that is open', 'agent.commit_chat_mismatch');
    }
    const context = tavern();
    const message = target(context?.chat ?? [], runId, payload.messageId);
    const extra = agentExtraOf(message);
    if (extra.persistStateStatus === 'committed' && extra.persistStateId === payload.stateId) return;
    writeExtra(message, withPersistState(extra, payload));
    await (context.saveChat ?? context.saveChatConditional)?.call(context);
  }
}

/** By its number; where messages before it were deleted meanwhile, by its run. */
function target(chat, runId, messageId) {
  const named = chat[Number(messageId)];
  if (agentExtraOf(named)?.runId === runId) return named;
  const index = findRunMessage(chat, runId);
  if (index !== -1) return chat[index];
  throw invalid('the message that the run has published is gone', 'agent.persistent_state_message_missing');
}
