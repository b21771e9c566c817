// The chat that a call is about, and the id that stays with it: given, or asked of `api.chat`.

import { invalid } from './errors.js';
import { isObject, trimmed } from './input.js';
import { isSameChat, plainChatRef } from './chat-ref.js';

/**
 * Both are looked up at each call: they may be installed later.
 * @param {() => object | undefined} chatApi
 * @param {() => object | undefined} tavern asked where there is no `api.chat`
 */
export function createChatIdentity(chatApi, tavern) {
  async function currentRef() {
    const api = chatApi();
    const ref = api ? await api.current?.ref?.() : tavernRef(tavern());
    return isObject(ref) ? plainChatRef(ref) : undefined;
  }

  async function stableIdOf(chatRef) {
    const api = chatApi();
    if (!api) return tavernStableId(tavern(), chatRef);
    const handle = await api.open?.(chatRef);
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
      if (current === undefined) return !chatApi() && isTavernChat(tavern(), stableChatId);
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

/** The chat that a tavern without `api.chat` has open. */
function tavernRef(context) {
  const chatId = String(context?.getCurrentChatId?.() ?? context?.chatId ?? '').trim();
  if (chatId === '') return undefined;
  if (String(context.groupId ?? '') !== '') return { kind: 'group', chatId };
  const avatar = trimmed(context.characters?.[context.characterId]?.avatar);
  return avatar === '' ? undefined : { kind: 'character', characterId: avatar.replace(/\.[^.]+$/, ''), fileName: chatId };
}

/** A group's chat is its own id; of others only the one that is open can be asked. */
function tavernStableId(context, chatRef) {
  if (chatRef.kind === 'group') return trimmed(chatRef.chatId);
  const open = tavernRef(context);
  return isSameChat(open, chatRef) ? trimmed(context.chatMetadata?.integrity) : '';
}

/** A tavern that does not say which chat is open still has its id. */
function isTavernChat(context, stableChatId) {
  const wanted = trimmed(stableChatId);
  return wanted !== '' && trimmed(context?.chatMetadata?.integrity) === wanted;
}
