// `api.chat`: the chats of this house, for a page that is not a tavern of its own. A tavern that brings its own `api.chat`
// keeps it.

import { createBackend } from './backend.js';
import { invalid } from './errors.js';
import { guarded } from './guard.js';
import { isObject, optionalText, present, requiredText, trimmed } from './input.js';
import { plainChatRef } from './chat-ref.js';
import { hostRoot, invokeOf, windowNow } from './root.js';

const ROLES = ['user', 'assistant', 'system'];

/**
 * @param {{ invoke: Function, current?: () => object | null | undefined, windowInfo?: () => object }} context
 *   `current` says which chat is open on the page.
 */
export function installChatApi(context) {
  const backend = createBackend(invokeOf(context, 'installChatApi'));
  const root = hostRoot(context.window ?? windowNow());
  let opened;

  const ref = () => {
    const told = typeof context.current === 'function' ? context.current() : opened;
    return isObject(told) ? checkedRef(told) : null;
  };
  const chat = {
    open: (chatRef) => createHandle(backend, checkedRef(chatRef)),
    current: {
      ref,
      handle() {
        const now = ref();
        return now === null ? null : createHandle(backend, now);
      },
      windowInfo: () => context.windowInfo?.() ?? { chatRef: ref() },
      /** For pages that do not bring `current`: this chat is open from now on. */
      set(chatRef) {
        opened = chatRef === null || chatRef === undefined ? undefined : checkedRef(chatRef);
      },
    },
  };
  root.api.chat = chat;
  return chat;
}

export function checkedRef(ref) {
  const code = 'agent.invalid_chat_ref';
  if (!isObject(ref)) throw invalid('chatRef must be an object', code);
  if (ref.kind === 'group') return { kind: 'group', chatId: requiredText(ref.chatId, 'chatRef.chatId', code) };
  if (ref.kind !== 'character') throw invalid('chatRef.kind must be character or group', code);
  return plainChatRef({
    kind: 'character',
    characterId: requiredText(ref.characterId, 'chatRef.characterId', code),
    fileName: requiredText(ref.fileName, 'chatRef.fileName', code),
  });
}

function createHandle(backend, chatRef) {
  const send = (command, dto = {}) => backend.send(command, { chatRef, ...present(dto) });
  return {
    ref: chatRef,
    ...guarded({
      async summary(input = {}) {
        return send('read_chat_summary', { includeMetadata: input?.includeMetadata });
      },
      async stableId() {
        if (chatRef.kind === 'group') return chatRef.chatId;
        const answer = await send('read_chat_stable_id');
        const id = trimmed(isObject(answer) ? answer.stableId : answer);
        if (id === '') throw invalid('the chat has no id that stays', 'agent.invalid_chat_integrity');
        return id;
      },
      async searchMessages(input) {
        const query = requiredText(isObject(input) ? input.query : input, 'query');
        const { limit = 20, filters } = isObject(input) ? input : {};
        return send('search_chat_messages', { query, limit, filters: searchFilters(filters) });
      },
    }),
    metadata: guarded({
      async get() {
        return send('read_chat_metadata');
      },
      async setExtension(input) {
        const dto = { namespace: requiredText(input?.namespace, 'namespace'), value: input.value };
        await send('set_chat_metadata_extension', dto);
      },
    }),
    store: guarded(createStore(send)),
    locate: guarded({
      async findLastMessage(query = {}) {
        const { role, hasTopLevelKeys, hasExtraKeys, scanLimit } = query ?? {};
        const dto = { role: roleOf(role), hasTopLevelKeys, hasExtraKeys, scanLimit };
        return (await send('find_last_chat_message', dto)) ?? null;
      },
    }),
    history: guarded(createHistory(send)),
  };
}

function searchFilters(filters) {
  if (filters === undefined || filters === null) return undefined;
  if (!isObject(filters)) throw invalid('filters must be an object');
  const { role, startIndex, endIndex, scanLimit } = filters;
  return present({ role: roleOf(role), startIndex, endIndex, scanLimit });
}

function roleOf(role) {
  if (role === undefined || role === null) return undefined;
  if (!ROLES.includes(role)) throw invalid(`role must be one of: ${ROLES.join(', ')}`);
  return role;
}

/** Newest pages first, each with its messages oldest first. */
function createHistory(send) {
  const tail = async ({ limit } = {}) => send('read_chat_history_tail', { limit });
  const before = async (cursor, { limit } = {}) => {
    if (cursor === undefined || cursor === null) throw invalid('cursor is required');
    return send('read_chat_history_before', { cursor, limit });
  };
  return {
    tail,
    before,
    async beforePages(cursor, { limit, pages = 1 } = {}) {
      const found = [];
      for (let next = cursor; found.length < pages && next !== undefined && next !== null; ) {
        const page = await before(next, { limit });
        found.push(page);
        next = page?.cursor;
      }
      return found;
    },
  };
}

/** Small JSON values of extensions, kept beside the chat. */
function createStore(send) {
  const place = (input) => ({
    namespace: requiredText(input?.namespace, 'namespace'),
    key: requiredText(input?.key, 'key'),
  });
  return {
    async getJson(input) {
      const answer = await send('read_chat_store_json', place(input));
      return isObject(answer) && Object.hasOwn(answer, 'value') ? answer.value : answer;
    },
    async setJson(input) {
      await send('write_chat_store_json', { ...place(input), value: input.value === undefined ? null : input.value });
    },
    async updateJson(input) {
      return send('update_chat_store_json', { ...place(input), value: input.value === undefined ? null : input.value });
    },
    async renameKey(input) {
      await send('rename_chat_store_key', { ...place(input), newKey: requiredText(input?.newKey, 'newKey') });
    },
    async deleteJson(input) {
      await send('delete_chat_store_json', place(input));
    },
    async listKeys(input) {
      const dto = { namespace: requiredText(input?.namespace, 'namespace'), prefix: optionalText(input?.prefix) };
      const answer = await send('list_chat_store_keys', dto);
      return isObject(answer) && Array.isArray(answer.keys) ? answer.keys : answer;
    },
  };
}
