// What runs of a chat remember, seen from the page: which states no message names any more, and what a branch takes along.

import { invalid } from './errors.js';
import { objectInput, uniqueTexts } from './input.js';

/** @param {{ backend: object, identity: object, canPruneGroups: boolean }} parts */
export function createPersistentStates({ backend, identity, canPruneGroups }) {
  return {
    async pruneChatPersistentStates(input) {
      objectInput(input, 'pruneChatPersistentStates');
      const chatRef = await identity.chatRef(input.chatRef);
      if (chatRef.kind === 'group' && !canPruneGroups) {
        const text = 'states of group chats cannot be pruned here';
        throw invalid(text, 'agent.group_persistent_state_prune_unsupported');
      }
      const stableChatId = await identity.stableChatId(input.stableChatId, chatRef);
      const candidates = candidateIds(input.candidateStateIds);
      const dto = { chatRef, stableChatId, candidateStateIds: candidates };
      return backend.send('prune_agent_chat_persistent_states', dto);
    },

    async copyChatPersistentStates(input) {
      objectInput(input, 'copyChatPersistentStates');
      const side = async (name) => {
        const given = input[`${name}ChatRef`];
        if (given === undefined || given === null) throw invalid(`${name}ChatRef is required`);
        const chatRef = await identity.chatRef(given);
        return [chatRef, await identity.stableChatId(input[`${name}StableChatId`], chatRef)];
      };
      const [sourceChatRef, sourceStableChatId] = await side('source');
      const [targetChatRef, targetStableChatId] = await side('target');
      const dto = { sourceChatRef, sourceStableChatId, targetChatRef, targetStableChatId };
      return backend.send('copy_agent_chat_persistent_states', dto);
    },
  };
}

function candidateIds(given) {
  const code = 'agent.persistent_state_prune_candidates_required';
  if (!Array.isArray(given)) throw invalid('candidateStateIds must be an array', code);
  const ids = uniqueTexts(given);
  if (ids.length === 0) throw invalid('candidateStateIds is required', code);
  return ids;
}
