import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAT, chatApi, createTavern, install, settle, sha256 } from './support.js';

const TEXT = 'Once upon a time — 茶。';

function request(more = {}, seq = 1) {
  const payload = {
    commitId: 'commit_1',
    runId: 'run_1',
    workspaceId: 'ws',
    stableChatId: 'stable',
    chatRef: CHAT,
    generationType: 'normal',
    profileId: 'w',
    persistBaseStateId: null,
    path: 'output/main.md',
    mode: 'replace',
    reason: 'done',
    chars: 21,
    words: 5,
    sha256: sha256(TEXT),
    checkpointId: 'cp_000001',
    ...more,
  };
  return { seq, type: 'chat_commit_requested', runId: 'run_1', payload };
}

/** A page with a tavern that follows run_1, and its files. */
async function page({ files = { 'output/main.md': TEXT }, handlers, ...more } = {}) {
  const tavern = 'tavern' in more ? more.tavern : createTavern();
  const parts = install(
    {
      read_agent_workspace_file: ({ path }) => ({ path, text: files[path], sha256: sha256(files[path] ?? '') }),
      ...handlers,
    },
    { push: true, ...more, tavern },
  );
  await parts.agent.startRunWithPromptSnapshot({ chatRef: CHAT, stableChatId: 'stable', promptSnapshot: {} });
  await parts.clock.advance(0);
  return { ...parts, tavern, answers: () => parts.double.sent('resolve_agent_chat_commit') };
}

test('what the run publishes becomes a message that says where it is from', async () => {
  const { double, tavern, answers } = await page();
  double.emit('run_1', request());
  await settle();
  assert.deepEqual(tavern.log, [['saveReply', 'normal', TEXT], ['saveChat']]);
  assert.deepEqual(answers(), [{ runId: 'run_1', commitId: 'commit_1', messageId: '0' }]);
  const metrics = { bytes: Buffer.byteLength(TEXT), chars: [...TEXT].length, words: 5, sha256: sha256(TEXT) };
  assert.deepEqual(tavern.chat[0].extra.tauritavern.agent, {
    version: 2,
    runId: 'run_1',
    workspaceId: 'ws',
    stableChatId: 'stable',
    profileId: 'w',
    persistBaseStateId: null,
    persistStateStatus: 'not_committed',
    checkpointId: 'cp_000001',
    commitId: 'commit_1',
    commitSeq: 1,
    commits: [
      { seq: 1, commitId: 'commit_1', checkpointId: 'cp_000001', path: 'output/main.md', mode: 'replace', reason: 'done', ...metrics },
    ],
    rollback: { strategy: 'deleteMessage' },
    artifacts: [{ path: 'output/main.md', target: 'message_body', ...metrics }],
  });
});

// [generationType, mode] of the first commit, and what the tavern is told
const FIRST = [
  ['normal', 'replace', 'normal'],
  ['regenerate', 'replace', 'regenerate'],
  ['swipe', 'replace', 'swipe'],
  ['swipe', 'append', 'normal'],
  ['append', 'replace', 'normal'],
  ['continue', 'replace', 'normal'],
  ['appendFinal', 'replace', 'normal'],
  [undefined, 'replace', 'normal'],
];
for (const [generationType, mode, type] of FIRST) {
  test(`a first commit: ${generationType}, ${mode} is saved as ${type}`, async () => {
    const tavern = createTavern({ chat: [{ mes: 'before', extra: {} }] });
    const { double } = await page({ tavern });
    double.emit('run_1', request({ generationType, mode }));
    await settle();
    assert.deepEqual(tavern.log[0], ['saveReply', type, TEXT]);
  });
}

test('a swipe says so, in the message and in its swipe', async () => {
  const tavern = createTavern({ chat: [{ mes: 'before', extra: {}, swipe_id: 0, swipes: ['before'] }] });
  const { double } = await page({ tavern });
  double.emit('run_1', request({ generationType: 'swipe' }));
  await settle();
  const [message] = tavern.chat;
  assert.deepEqual(message.extra.tauritavern.agent.rollback, { strategy: 'deleteSwipe', swipeId: 1 });
  assert.deepEqual(message.swipe_info[1].extra.tauritavern, message.extra.tauritavern);
  assert.deepEqual(message.swipe_info[0].extra, {});
});

test('later commits change the same message', async () => {
  const files = { 'output/main.md': TEXT, 'output/b.md': ' And then.' };
  const { double, tavern, answers } = await page({ files });
  double.emit('run_1', request());
  await settle();
  double.emit('run_1', request({ commitId: 'commit_2', mode: 'append', path: 'output/b.md', sha256: sha256(files['output/b.md']) }, 2));
  await settle();
  double.emit('run_1', request({ commitId: 'commit_3' }, 3));
  await settle();
  assert.deepEqual(tavern.log.filter(([name]) => name === 'saveReply').map(([, type]) => type), ['normal', 'append', 'appendFinal']);
  assert.deepEqual(answers().map(({ commitId, messageId }) => [commitId, messageId]), [['commit_1', '0'], ['commit_2', '0'], ['commit_3', '0']]);
  const { commits, commitSeq } = tavern.chat[0].extra.tauritavern.agent;
  assert.deepEqual(commits.map(({ seq, commitId, mode }) => [seq, commitId, mode]), [[1, 'commit_1', 'replace'], [2, 'commit_2', 'append'], [3, 'commit_3', 'replace']]);
  assert.equal(commitSeq, 3);
});

test('the same commit is handled once', async () => {
  const { double, tavern, answers } = await page();
  double.emit('run_1', request({}, 1), request({}, 2));
  await settle();
  double.emit('run_1', request({}, 3));
  await settle();
  assert.equal(tavern.chat.length, 1);
  assert.equal(answers().length, 1);
});

test('a run that asks again after a restart gets the same answer, and nothing is saved twice', async () => {
  const { double, tavern, answers } = await page();
  double.emit('run_1', request());
  await settle();
  double.emit('run_1', request({ offeredAgain: true }, 2));
  await settle();
  assert.equal(tavern.chat.length, 1);
  assert.deepEqual(answers(), [1, 2].map(() => ({ runId: 'run_1', commitId: 'commit_1', messageId: '0' })));
});

test('what failed before is tried again when the run asks again', async () => {
  const files = {};
  const { double, tavern, answers } = await page({ files });
  double.emit('run_1', request());
  await settle();
  files['output/main.md'] = TEXT;
  double.emit('run_1', request({}, 2));
  await settle();
  double.emit('run_1', request({ offeredAgain: true }, 3));
  await settle();
  assert.deepEqual(answers().map((answer) => Object.keys(answer).at(-1)), ['error', 'messageId']);
  assert.equal(tavern.chat.length, 1);
});

const mineBut = (more) => ({ mes: 'x', extra: { tauritavern: { agent: { version: 2, runId: 'run_1', commits: [], ...more } } } });
// [why, code, the payload, the page]
const FAILING = [
  ['another chat is open', 'agent.commit_chat_mismatch', {}, { chat: chatApi({ ...CHAT, fileName: 'other' }, 'another') }],
  ['no chat is open', 'agent.commit_chat_mismatch', {}, { chat: chatApi(null) }],
  ['the text is another', 'agent.host_workspace_file_invalid', { sha256: sha256('x') }, {}],
  ['there is no text', 'agent.host_workspace_file_invalid', { path: 'output/none.md' }, {}],
  ['no path', 'agent.host_payload_invalid', { path: ' ' }, {}],
  ['no checkpoint', 'agent.host_payload_invalid', { checkpointId: undefined }, {}],
  ['chars below zero', 'agent.host_payload_invalid', { chars: -1 }, {}],
  ['words that are none', 'agent.host_payload_invalid', { words: 1.5 }, {}],
  ['nothing counted', 'agent.host_payload_invalid', { chars: undefined, words: undefined }, {}],
  ['a mode that is none', 'agent.chat_commit_mode_invalid', { mode: 'prepend' }, {}],
  ['the tavern cannot save', 'commit.save_failed', {}, { tavern: createTavern({ saveReply: async () => { throw new Error('disk full'); } }) }],
  ['the chat cannot be saved', 'commit.save_failed', {}, { tavern: createTavern({ saveChat: async () => { throw new Error('disk full'); } }) }],
  ['the tavern made no message', 'agent.chat_commit_message_missing', {}, { tavern: createTavern({ saveReply: async () => {} }) }],
  ['its message is not the last', 'agent.chat_commit_message_mismatch', {}, { tavern: createTavern({ chat: [mineBut(), { mes: 'later', is_user: true }] }) }],
  ['its message was taken over', 'agent.chat_commit_message_mismatch', {}, { tavern: createTavern({ chat: [mineBut(), mineBut({ runId: 'run_2' })] }) }],
  ['its message is none', 'agent.chat_commit_message_invalid', {}, { tavern: createTavern({ chat: [{ ...mineBut(), mes: undefined }] }) }],
  ['the file has chars below zero', 'agent.host_workspace_file_invalid', {}, { handlers: { read_agent_workspace_file: { text: TEXT, chars: -1 } } }],
  ['the file has words that are none', 'agent.host_workspace_file_invalid', {}, { handlers: { read_agent_workspace_file: { text: TEXT, words: 1.5 } } }],
  ['the file cannot be read', 'workspace.file_not_found', {}, { handlers: { read_agent_workspace_file: new Error('Not found: workspace.file_not_found: gone') } }],
];
for (const [why, code, payload, parts] of FAILING) {
  test(`the run is told why not: ${why}`, async () => {
    const { double, answers } = await page(parts);
    double.emit('run_1', request(payload));
    await settle();
    const [answer, ...more] = answers();
    assert.deepEqual(more, []);
    assert.deepEqual(Object.keys(answer), ['runId', 'commitId', 'error']);
    assert.ok(answer.error.includes(code), answer.error);
  });
}

test('a message of the run that was deleted is missed', async () => {
  const { double, tavern, answers } = await page();
  double.emit('run_1', request());
  await settle();
  tavern.chat.length = 0;
  double.emit('run_1', request({ commitId: 'commit_2' }, 2));
  await settle();
  assert.match(answers()[1].error, /agent\.chat_commit_message_missing/);
  assert.equal(tavern.chat.length, 0);
});

test('the same chat under another place is the same by its id', async () => {
  const { double, answers } = await page({ chat: chatApi({ ...CHAT, fileName: 'renamed' }, 'stable') });
  double.emit('run_1', request());
  await settle();
  assert.equal(answers()[0].messageId, '0');
});

test('payloads that count bytes are taken too', async () => {
  const { double, answers } = await page();
  double.emit('run_1', request({ chars: undefined, words: undefined, bytes: 9 }));
  await settle();
  assert.equal(answers()[0].messageId, '0');
});

test('who takes too long is not waited for; what is saved after all is told', async () => {
  let finish;
  const chat = [];
  const tavern = createTavern({
    chat,
    saveReply: ({ getMessage }) => new Promise((resolve) => (finish = () => resolve(chat.push({ mes: getMessage, extra: {} })))),
  });
  const { double, clock, answers } = await page({ tavern, commitTimeoutMs: 1000 });
  double.emit('run_1', request());
  await clock.advance(999);
  assert.deepEqual(answers(), []);
  await clock.advance(1);
  assert.match(answers()[0].error, /commit\.save_failed.*1000 ms/);
  finish();
  await settle();
  assert.deepEqual(answers()[1], { runId: 'run_1', commitId: 'commit_1', messageId: '0' });
});

test('what was given up before it was saved is not saved later', async () => {
  let finish;
  const reading = new Promise((resolve) => (finish = () => resolve({ text: TEXT })));
  const { double, clock, tavern, answers } = await page({ handlers: { read_agent_workspace_file: () => reading }, commitTimeoutMs: 1000 });
  double.emit('run_1', request());
  await clock.advance(1000);
  finish();
  await settle();
  assert.deepEqual(tavern.log, []);
  assert.equal(answers().length, 1);
});

test('an answer that did not get through is sent again', async () => {
  let tries = 0;
  const { double, clock, tavern, answers } = await page({
    handlers: {
      resolve_agent_chat_commit() {
        tries += 1;
        if (tries < 3) throw Object.assign(new Error('no way'), { code: 'transport.unreachable' });
      },
    },
  });
  double.emit('run_1', request());
  await clock.advance(500);
  await clock.advance(2000);
  assert.equal(answers().length, 3);
  assert.equal(tavern.chat.length, 1);
});

test('the bridge leaves with the run', async () => {
  const { agent, double } = await page();
  assert.deepEqual(agent.bridge.attachedRuns(), ['run_1']);
  double.emit('run_1', { seq: 1, type: 'run_cancelled', payload: null });
  await settle();
  assert.deepEqual(agent.bridge.attachedRuns(), []);
  assert.deepEqual(double.followers(), []);
});

test('bridges can be left out', async () => {
  const { agent, double, clock } = install({}, { tavern: createTavern(), push: true, bridges: false });
  await agent.startRunWithPromptSnapshot({ chatRef: CHAT, stableChatId: 'stable', promptSnapshot: {} });
  await clock.advance(0);
  assert.deepEqual(double.followers(), []);
  assert.deepEqual(double.sent('list_agent_runs'), []);
});

test('a page with nothing but invoke answers what it can, and says what it cannot', async () => {
  const cases = [
    [{}, 'commit.save_failed'],
    [{ sha256: sha256('x') }, 'agent.host_workspace_file_invalid'],
    [{ chatRef: { ...CHAT, fileName: 'other' }, stableChatId: 'other' }, 'agent.commit_chat_mismatch'],
    [{ path: '' }, 'agent.host_payload_invalid'],
  ];
  for (const [payload, code] of cases) {
    const { agent, double, clock } = install({
      read_agent_run_events: ({ afterSeq }) => ({ events: afterSeq === 0 ? [request(payload)] : [] }),
      read_agent_workspace_file: { text: TEXT },
    });
    await agent.startRunWithPromptSnapshot({ chatRef: CHAT, stableChatId: 'stable', promptSnapshot: {} });
    await clock.advance(0);
    const [answer] = double.sent('resolve_agent_chat_commit');
    assert.ok(answer.error.includes(code), answer.error);
  }
});

test('where runs are pushed to many pages, one that cannot publish leaves it to the others', async () => {
  const { double, answers } = await page({ tavern: () => undefined });
  double.emit('run_1', request());
  await settle();
  assert.deepEqual(answers(), []);
});

test('without api.chat the open chat is known by what the tavern says of it', async () => {
  const cases = [
    [{ chatMetadata: { integrity: 'stable' } }, 'messageId'],
    [{ chatMetadata: { integrity: 'other' } }, 'error'],
    [{ characters: [{ avatar: 'mira.png' }], characterId: 0, chatId: 'evening' }, 'messageId'],
    [{ characters: [{ avatar: 'mira.png' }], characterId: 0, chatId: 'morning' }, 'error'],
  ];
  for (const [context, expected] of cases) {
    const { double, answers } = await page({ tavern: createTavern(context), chat: null });
    double.emit('run_1', request());
    await settle();
    assert.deepEqual(Object.keys(answers()[0]).at(-1), expected);
  }
});

test('a character may be named by its picture', async () => {
  const { double, answers } = await page({ chat: chatApi({ ...CHAT, characterId: 'mira.png' }, 'another') });
  double.emit('run_1', request());
  await settle();
  assert.equal(answers()[0].messageId, '0');
});

test('a tavern beside the window is found', async (t) => {
  const tavern = createTavern();
  globalThis.SillyTavern = { getContext: () => tavern };
  t.after(() => delete globalThis.SillyTavern);
  const { double, answers } = await page({ tavern: undefined });
  double.emit('run_1', request());
  await settle();
  assert.equal(answers()[0].messageId, '0');
});

const MIRA = { characters: [{ name: 'Mira', avatar: 'mira.png' }], characterId: 0, chatId: 'evening', getRequestHeaders: () => ({ 'x-csrf-token': 'c' }) };

test('what was saved is read back: a chat without the message was not saved', async () => {
  for (const [context, isSaved] of [[MIRA, true], [MIRA, false], [{ groupId: 'g', chatId: 'g-1', getRequestHeaders: () => ({}) }, true]]) {
    const asked = [];
    const tavern = createTavern(context);
    const fetch = async (url, { headers, body }) => {
      asked.push([url, headers['x-csrf-token'], JSON.parse(body)]);
      return { ok: true, json: async () => (isSaved ? [{ chat_metadata: {} }, ...tavern.chat] : [{ chat_metadata: {} }]) };
    };
    const { double, answers } = await page({ tavern, window: { fetch } });
    double.emit('run_1', request());
    await settle();
    if (context === MIRA) assert.deepEqual(asked, [['/api/chats/get', 'c', { ch_name: 'Mira', file_name: 'evening', avatar_url: 'mira.png' }]]);
    else assert.deepEqual(asked[0][2], { id: 'g-1' });
    if (isSaved) assert.equal(answers()[0].messageId, '0');
    else assert.match(answers()[0].error, /commit\.save_failed/);
  }
});

test('where nobody can tell whether it was saved, it counts as saved', async () => {
  for (const fetch of [async () => ({ ok: false }), async () => { throw new TypeError('no'); }, async () => ({ ok: true, json: async () => ({}) })]) {
    const { double, answers } = await page({ tavern: createTavern(MIRA), window: { fetch } });
    double.emit('run_1', request());
    await settle();
    assert.equal(answers()[0].messageId, '0');
  }
});

test('a tavern may say itself whether it was saved, and what it does to replies', async () => {
  const tavern = createTavern({ isCommitSaved: (id) => id === 'commit_1', prepareReply: async (text) => text.toUpperCase() });
  const { double, answers } = await page({ tavern });
  double.emit('run_1', request());
  await settle();
  assert.equal(tavern.chat[0].mes, TEXT.toUpperCase());
  assert.equal(tavern.chat[0].extra.tauritavern.agent.commits[0].sha256, sha256(TEXT));
  assert.equal(answers()[0].messageId, '0');
  double.emit('run_1', request({ commitId: 'commit_2' }, 2));
  await settle();
  assert.match(answers()[1].error, /commit\.save_failed/);
});
