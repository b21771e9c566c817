// The chat that a call is about, and the id that stays with it: given, or asked of `api.chat`.

import { invalid } from './errors.js';
import { isObject, trimmed } from './input.js';
import { isSameChat, plainChatRef } from './chat-ref.js';

/** @param {() => object | undefined} chatApi looked up at each call: it may be installed later */
export function createChatIdentity(chatApi) {
  async function currentRef() {
    const ref = await chatApi()?.current?.ref?.();
    return isObject(ref) ? plainChatRef(ref) : undefined;
  }

  async function stableIdOf(chatRef) {
    const handle = await chatApi()?.open?.(chatRef);
    return trimmed(await handle?.stableId?.());
  }

  return {
    currentRef,
    stableIdOf,

    async chatRef(given) {
      if (given !== undefined && given !== null && !isObject(given)) {
        throw invalid('chatRef is required and must be an object', 'agent.invalid_chat_ref');
      }
      const ref = given ? plainChatRef(given) : await currentRef();
      if (ref === undefined) throw invalid('chatRef is required');
      return ref;
    },

    async stableChatId(given, chatRef) {
      const id = trimmed(given) || (await stableIdOf(chatRef));
      if (id === '') throw invalid('stableChatId is required');
      return id;
    },

    /** Whether the chat on the page is this one, by its place or by its id. */
    async isCurrent(chatRef, stableChatId) {
      const current = await currentRef();
      if (current === undefined) return false;
      if (isSameChat(current, chatRef)) return true;
      const wanted = trimmed(stableChatId);
      if (wanted === '' || (isObject(chatRef) && chatRef.kind !== current.kind)) return false;
      try {
        return (await stableIdOf(current)) === wanted;
      } catch {
        return false;
      }
    },
  };
}
