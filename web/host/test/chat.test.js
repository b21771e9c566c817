import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDoubleTransport, installAgentApi, installChatApi } from '../index.js';
import { CHAT } from './support.js';

function chats(handlers = {}, more = {}) {
  const double = createDoubleTransport(handlers);
  const window = {};
  const chat = installChatApi({ invoke: double.invoke, window, ...more });
  return { chat, double, window, handle: chat.open({ ...CHAT, fileName: 'evening.jsonl' }) };
}
const place = { namespace: 'ext', key: 'k' };

const SENT = [
  [(h) => h.summary(), 'read_chat_summary', {}],
  [(h) => h.summary({ includeMetadata: true }), 'read_chat_summary', { includeMetadata: true }],
  [(h) => h.searchMessages({ query: ' tea ' }), 'search_chat_messages', { query: 'tea', limit: 20 }],
  [(h) => h.searchMessages({ query: 'tea', limit: 3, filters: { role: 'user', startIndex: 1, endIndex: 9, scanLimit: 50 } }), 'search_chat_messages', { query: 'tea', limit: 3, filters: { role: 'user', startIndex: 1, endIndex: 9, scanLimit: 50 } }],
  [(h) => h.metadata.get(), 'read_chat_metadata', {}],
  [(h) => h.metadata.setExtension({ namespace: 'ext', value: { a: 1 } }), 'set_chat_metadata_extension', { namespace: 'ext', value: { a: 1 } }],
  [(h) => h.store.getJson(place), 'read_chat_store_json', place],
  [(h) => h.store.setJson({ ...place, value: [1] }), 'write_chat_store_json', { ...place, value: [1] }],
  [(h) => h.store.updateJson({ ...place, value: { b: 2 } }), 'update_chat_store_json', { ...place, value: { b: 2 } }],
  [(h) => h.store.renameKey({ ...place, newKey: 'n' }), 'rename_chat_store_key', { ...place, newKey: 'n' }],
  [(h) => h.store.deleteJson(place), 'delete_chat_store_json', place],
  [(h) => h.store.listKeys({ namespace: 'ext' }), 'list_chat_store_keys', { namespace: 'ext' }],
  [(h) => h.locate.findLastMessage({ role: 'assistant', hasExtraKeys: ['x'], scanLimit: 5 }), 'find_last_chat_message', { role: 'assistant', hasExtraKeys: ['x'], scanLimit: 5 }],
  [(h) => h.history.tail({ limit: 5 }), 'read_chat_history_tail', { limit: 5 }],
  [(h) => h.history.before(7, { limit: 5 }), 'read_chat_history_before', { cursor: 7, limit: 5 }],
];
for (const [call, command, dto] of SENT) {
  test(`a chat sends ${command} ${JSON.stringify(dto)}`, async () => {
    const { handle, double } = chats({ [command]: {} });
    await call(handle);
    assert.deepEqual(double.calls.map(({ command: sent, dto: told }) => [sent, told]), [[command, { chatRef: CHAT, ...dto }]]);
  });
}

for (const [call, fragment] of [
  [(h) => h.searchMessages({ query: ' ' }), 'query is required'],
  [(h) => h.searchMessages({ query: 'x', filters: { role: 'cat' } }), 'role must be one of'],
  [(h) => h.store.getJson({ key: 'k' }), 'namespace is required'],
  [(h) => h.history.before(), 'cursor is required'],
]) {
  test(`a chat refuses: ${fragment}`, async () => {
    await assert.rejects(call(chats().handle), (error) => error.message.includes(fragment));
  });
}

test('the id that stays: of a group its own, of others what the backend says', async () => {
  const { chat, handle, double } = chats({ read_chat_stable_id: { stableId: ' abc ' } });
  assert.equal(await handle.stableId(), 'abc');
  assert.equal(await chat.open({ kind: 'group', chatId: 'g' }).stableId(), 'g');
  double.on('read_chat_stable_id', null);
  await assert.rejects(handle.stableId(), { code: 'agent.invalid_chat_integrity' });
});

for (const ref of [undefined, {}, { kind: 'character' }, { kind: 'character', characterId: 'a' }, { kind: 'group' }, { kind: 'character', character_id: 'a', file_name: 'b' }]) {
  test(`that is no chat: ${JSON.stringify(ref)}`, () => {
    assert.throws(() => chats().chat.open(ref), { code: 'agent.invalid_chat_ref' });
  });
}

test('the page says which chat is open', () => {
  let open = null;
  const { chat } = chats({}, { current: () => open });
  assert.equal(chat.current.ref(), null);
  assert.equal(chat.current.handle(), null);
  open = { ...CHAT, fileName: 'evening.jsonl' };
  assert.deepEqual(chat.current.ref(), CHAT);
  assert.deepEqual(chat.current.handle().ref, CHAT);
  assert.deepEqual(chat.current.windowInfo(), { chatRef: CHAT });
  const other = chats().chat;
  other.current.set(CHAT);
  assert.deepEqual(other.current.ref(), CHAT);
  other.current.set(null);
  assert.equal(other.current.ref(), null);
});

test('pages are read backwards until there are no more', async () => {
  const pages = { 9: { messages: ['b'], cursor: 4 }, 4: { messages: ['a'], cursor: null } };
  const { handle } = chats({ read_chat_history_before: ({ cursor }) => pages[cursor] });
  assert.deepEqual((await handle.history.beforePages(9, { pages: 5 })).map(({ messages }) => messages), [['b'], ['a']]);
});

test('an agent starts in the chat that is open', async () => {
  const { window, double, chat } = chats({
    read_chat_stable_id: { stableId: 'abc' },
    load_agent_profile: { profile: { id: 'w', preset: { mode: 'none' } } },
    start_agent_run: { runId: 'r' },
  });
  chat.current.set(CHAT);
  const agent = installAgentApi({ invoke: double.invoke, window });
  assert.equal(window.__TAURITAVERN__.api.chat, chat);
  await agent.startRunWithPromptSnapshot({ promptSnapshot: {} });
  const [dto] = double.sent('start_agent_run');
  assert.deepEqual([dto.chatRef, dto.stableChatId], [CHAT, 'abc']);
});
