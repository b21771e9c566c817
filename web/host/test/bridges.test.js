import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRunFeed } from '../bridges/run-feed.js';
import { unanswered } from '../bridges/unanswered.js';
import { CHAT, createTavern, install, settle, sha256 } from './support.js';

const TEXT = 'Tea.';
const commitPayload = (commitId = 'commit_1', more = {}) => ({
  commitId,
  runId: 'run_1',
  workspaceId: 'ws',
  stableChatId: 'stable',
  chatRef: CHAT,
  generationType: 'normal',
  path: 'output/main.md',
  mode: 'replace',
  bytes: 4,
  sha256: sha256(TEXT),
  checkpointId: 'cp_000001',
  ...more,
});
const extraOf = (message) => message.extra.tauritavern.agent;
const published = (commitId = 'commit_1', more = {}) => ({
  mes: TEXT,
  extra: { tauritavern: { agent: { version: 2, runId: 'run_1', commitId, commits: [{ seq: 1, commitId }], ...more } } },
});
const numbered = (...events) => events.map(([type, payload = null], index) => ({ seq: index + 1, type, runId: 'run_1', payload }));

/** A page that is opened while a run of its chat waits. */
async function reloaded({ events, tavern = createTavern(), runs = [{ runId: 'run_1', chatRef: CHAT }], handlers = {}, ...more }) {
  const parts = install(
    {
      list_agent_runs: { runs },
      read_agent_run_events: ({ afterSeq }) => ({ events: events.filter(({ seq }) => seq > (afterSeq ?? 0)) }),
      read_agent_workspace_file: ({ path }) => ({ path, text: TEXT }),
      ...handlers,
    },
    { tavern, ...more },
  );
  await parts.clock.advance(0);
  await settle();
  return { ...parts, tavern, answers: () => parts.double.sent('resolve_agent_chat_commit') };
}

test('what was unanswered when the page was left is answered when it is opened again', async () => {
  const events = numbered(['run_created'], ['chat_commit_requested', commitPayload()]);
  const { agent, double, tavern, answers } = await reloaded({ events });
  const [query] = double.sent('list_agent_runs');
  assert.deepEqual(query.chatRef, CHAT);
  assert.ok(query.statuses.includes('awaiting_host_commit'));
  assert.ok(!query.statuses.includes('completed'));
  assert.deepEqual(answers(), [{ runId: 'run_1', commitId: 'commit_1', messageId: '0' }]);
  assert.equal(tavern.chat.length, 1);
  assert.deepEqual(agent.bridge.attachedRuns(), ['run_1']);
});

test('a message that was saved before is not saved again, but answered for', async () => {
  const tavern = createTavern({ chat: [{ mes: 'hi', is_user: true }, published()] });
  const { answers } = await reloaded({ events: numbered(['chat_commit_requested', commitPayload()]), tavern });
  assert.deepEqual(answers(), [{ runId: 'run_1', commitId: 'commit_1', messageId: '1' }]);
  assert.deepEqual(tavern.log, []);
});

test('a message of version 1 is known too', async () => {
  const old = { mes: TEXT, extra: { tauritavern: { agent: { version: 1, runId: 'run_1', commitId: 'commit_2', commits: [{ seq: 1, commitId: 'commit_1', bytes: 4 }] } } } };
  const tavern = createTavern({ chat: [old] });
  const { answers } = await reloaded({ events: numbered(['chat_commit_requested', commitPayload()]), tavern });
  assert.equal(answers()[0].messageId, '0');
  assert.deepEqual(tavern.log, []);
});

test('what was answered is left alone, and a later commit goes to the same message', async () => {
  const tavern = createTavern({ chat: [published()] });
  const events = numbered(
    ['chat_commit_requested', commitPayload()],
    ['chat_commit_completed', { commitId: 'commit_1', messageId: '0' }],
    ['chat_commit_requested', commitPayload('commit_2')],
  );
  const { answers } = await reloaded({ events, tavern });
  assert.deepEqual(answers(), [{ runId: 'run_1', commitId: 'commit_2', messageId: '0' }]);
  assert.deepEqual(tavern.log[0], ['saveReply', 'appendFinal', TEXT]);
});

test('what it had published and is gone is missed, not published anew', async () => {
  const events = numbered(['chat_commit_completed', { commitId: 'commit_0' }], ['chat_commit_requested', commitPayload()]);
  const { answers, tavern } = await reloaded({ events });
  assert.match(answers()[0].error, /agent\.chat_commit_message_missing/);
  assert.deepEqual(tavern.chat, []);
});

test('another tab that looks after the run is left to do so', async () => {
  const held = { request: async (name, options, use) => (typeof options === 'function' ? undefined : use(null)) };
  const { agent, answers } = await reloaded({
    events: numbered(['chat_commit_requested', commitPayload()]),
    window: { navigator: { locks: held } },
  });
  assert.deepEqual(answers(), []);
  assert.deepEqual(agent.bridge.attachedRuns(), []);
});

test('another chat that is opened brings its runs along', async () => {
  const { double, tavern } = await reloaded({ events: [], runs: [] });
  assert.equal(double.sent('list_agent_runs').length, 1);
  tavern.emit('chat_id_changed');
  await settle();
  assert.equal(double.sent('list_agent_runs').length, 2);
});

test('a tavern that comes later is found when the page is ready', async () => {
  let ready;
  const window = { __TAURITAVERN__: { ready: new Promise((resolve) => (ready = resolve)) } };
  const { clock, double } = install({}, { window });
  window.SillyTavern = { getContext: () => createTavern() };
  await clock.advance(0);
  assert.deepEqual(double.calls, []);
  ready();
  await clock.advance(0);
  assert.equal(double.sent('list_agent_runs').length, 1);
});

test('all pages of a long journal are read, and all pages of the list', async () => {
  const events = Array.from({ length: 700 }, (_, index) => ({ seq: index + 1, type: 'x', payload: null }));
  events.push({ seq: 701, type: 'chat_commit_requested', payload: commitPayload() });
  const reads = [];
  const { answers, double } = await reloaded({
    events,
    handlers: {
      list_agent_runs: ({ before }) => (before ? { runs: [{ runId: 'run_1', chatRef: CHAT }] } : { runs: [], nextCursor: { createdAt: '2026-01-01T00:00:00Z', runId: 'run_0' } }),
      read_agent_run_events({ afterSeq, limit }) {
        reads.push(afterSeq);
        return { events: events.filter(({ seq }) => seq > afterSeq).slice(0, limit) };
      },
    },
  });
  assert.equal(double.sent('list_agent_runs').length, 2);
  assert.deepEqual(reads.slice(0, 2), [0, 500]);
  assert.equal(answers().length, 1);
});

test('questions without answers are found in a journal', () => {
  const events = numbered(
    ['chat_commit_requested', { commitId: 'a' }],
    ['chat_commit_failed', { commitId: 'a' }],
    ['chat_commit_requested', { commitId: 'b' }],
    ['persistent_state_metadata_update_requested', { updateId: 'u' }],
    ['persistent_state_metadata_updated', { updateId: 'u' }],
    ['prompt_assembly_requested', { assemblyId: 'p' }],
    ['prompt_assembly_requested', { assemblyId: 'q' }],
    ['prompt_assembly_completed', { assemblyId: 'q' }],
    ['chat_commit_requested', { commitId: 'b', offeredAgain: true }],
    ['status_changed'],
  );
  assert.deepEqual(unanswered(events).map(({ seq }) => seq), [6, 9]);
});

test('one who asks the feed of one run for another is refused', () => {
  const feed = createRunFeed({ runId: 'run_1', subscribe: () => () => {}, onError() {} });
  assert.throws(() => feed.subscribe('run_2', () => {}), { code: 'agent.subscribe_run_mismatch' });
});

test('a feed is one subscription, as long as somebody listens', () => {
  const heard = [];
  const errors = [];
  let tell;
  let stops = 0;
  const feed = createRunFeed({
    runId: 'run_1',
    subscribe(_runId, handler) {
      tell = handler;
      return () => (stops += 1);
    },
    onError: (error) => errors.push(error.message),
  });
  const first = feed.subscribe('run_1', () => { throw new Error('first'); });
  const second = feed.subscribe('run_1', (event) => heard.push(event));
  tell(1);
  first();
  first();
  assert.equal(stops, 0);
  second();
  assert.equal(stops, 1);
  assert.deepEqual([heard, errors], [[1], ['first']]);
});

const update = (more = {}) => ({
  updateId: 'u1',
  runId: 'run_1',
  stableChatId: 'stable',
  chatRef: CHAT,
  messageId: '1',
  stateId: 'run_1',
  baseStateId: 'run_0',
  changeCount: 2,
  ...more,
});

test('the message says which state the run has left', async () => {
  const tavern = createTavern({ chat: [{ mes: 'hi' }, published()] });
  const { double } = await reloaded({ events: numbered(['persistent_state_metadata_update_requested', update()]), tavern });
  assert.deepEqual(double.sent('resolve_agent_persistent_state_metadata_update'), [{ runId: 'run_1', updateId: 'u1' }]);
  const { persistStateStatus, persistStateId, persistBaseStateId, persistChangeCount, commits } = extraOf(tavern.chat[1]);
  assert.deepEqual([persistStateStatus, persistStateId, persistBaseStateId, persistChangeCount], ['committed', 'run_1', 'run_0', 2]);
  assert.equal(commits.length, 1);
  assert.deepEqual(tavern.log, [['saveChat']]);
});

test('a message that has moved is found by its run', async () => {
  const tavern = createTavern({ chat: [published()] });
  await reloaded({ events: numbered(['persistent_state_metadata_update_requested', update()]), tavern });
  assert.equal(extraOf(tavern.chat[0]).persistStateId, 'run_1');
});

for (const [code, more, tavern] of [
  ['agent.persistent_state_message_missing', {}, createTavern({ chat: [{ mes: 'x' }] })],
  ['agent.host_payload_invalid', { stateId: '' }, createTavern({ chat: [published()] })],
  ['agent.commit_chat_mismatch', { chatRef: { ...CHAT, fileName: 'other' }, stableChatId: 'other' }, createTavern({ chat: [published()] })],
  ['commit', {}, createTavern({ chat: [{}, published()], saveChat: async () => { throw new Error('commit.save_failed: disk'); } })],
]) {
  test(`a state that cannot be noted is told of: ${code}`, async () => {
    const { double } = await reloaded({ events: numbered(['persistent_state_metadata_update_requested', update(more)]), tavern });
    const [answer] = double.sent('resolve_agent_persistent_state_metadata_update');
    assert.ok(answer.error.includes(code), answer.error);
  });
}

test('the prompt of an agent is built when the run asks for it', async () => {
  const request = {
    kind: 'tauritavern.agentPromptAssemblyRequest',
    frozenRunInputSnapshot: { promptInputs: { messages: [{ role: 'user', content: 'hi' }] } },
    settings: {},
  };
  const { double } = await reloaded({
    events: numbered(['prompt_assembly_requested', { assemblyId: 'p1' }]),
    handlers: { read_agent_prompt_assembly_request: { request }, resolve_agent_prompt_assembly: undefined },
  });
  assert.deepEqual(double.sent('read_agent_prompt_assembly_request'), [{ runId: 'run_1', assemblyId: 'p1' }]);
  assert.deepEqual(double.sent('resolve_agent_prompt_assembly'), [
    {
      runId: 'run_1',
      assemblyId: 'p1',
      promptSnapshot: { chatCompletionPayload: { messages: [{ role: 'user', content: 'hi' }] } },
      assembly: { mode: 'frontendPromptAssembly' },
    },
  ]);
});

test('a prompt that cannot be built is told of', async () => {
  const { double } = await reloaded({
    events: numbered(['prompt_assembly_requested', { assemblyId: 'p1' }]),
    handlers: { read_agent_prompt_assembly_request: new Error('Bad request: agent.prompt_assembly_not_pending: no'), resolve_agent_prompt_assembly: undefined },
  });
  const [answer] = double.sent('resolve_agent_prompt_assembly');
  assert.match(answer.error, /agent\.prompt_assembly_not_pending/);
  assert.equal('promptSnapshot' in answer, false);
});

test('what a rollback withdraws goes out of the chat, once', async () => {
  const chat = [{ mes: 'hi', is_user: true }, published()];
  const slowly = async () => {
    await settle(1);
    chat.pop();
  };
  const tavern = createTavern({ chat, deleteLastMessage: slowly });
  const withdrawnCommits = [{ commitId: 'commit_1', strategy: 'deleteMessage' }];
  const { agent, double } = await reloaded({ events: [], tavern, push: true, handlers: { rollback_agent_run: { runId: 'run_1', withdrawnCommits } } });
  await settle();
  double.emit('run_1', { seq: 1, type: 'run_rolled_back', payload: { withdrawnCommits } });
  await agent.rollback({ runId: 'run_1', checkpointId: 'cp_000001', scope: 'committed-message' });
  await settle();
  assert.deepEqual(tavern.chat.map(({ mes }) => mes), ['hi']);
});

test('a swipe is withdrawn by itself, and a message goes back to what earlier commits made of it', async () => {
  const agentExtra = { version: 2, runId: 'run_1', commitId: 'commit_1', commits: [{ seq: 1, commitId: 'commit_1' }], rollback: { strategy: 'deleteSwipe', swipeId: 1 } };
  const swiped = { mes: 'b', swipes: ['a', 'b'], swipe_id: 1, extra: { tauritavern: { agent: agentExtra } }, swipe_info: [{ extra: { old: 1 } }, { extra: {} }] };
  const twice = published('commit_3', { runId: 'run_2', commits: [
    { seq: 1, commitId: 'commit_2', checkpointId: 'cp_000001', path: 'output/main.md', mode: 'replace' },
    { seq: 2, commitId: 'commit_3', checkpointId: 'cp_000002', path: 'output/main.md', mode: 'append' },
  ] });
  twice.mes = 'Tea. And more.';
  const tavern = createTavern({ chat: [swiped, twice] });
  const reads = [];
  const { agent, double } = install(
    {
      rollback_agent_run: { runId: 'run_1', withdrawnCommits: [{ commitId: 'commit_1', strategy: 'deleteSwipe' }] },
      read_agent_workspace_file: ({ path }) => reads.push(path) && { path, text: TEXT },
    },
    { tavern },
  );
  await agent.rollback({ runId: 'run_1', checkpointId: 'start' });
  assert.deepEqual([swiped.mes, swiped.swipes, swiped.swipe_id, swiped.extra], ['a', ['a'], 0, { old: 1 }]);
  double.on('rollback_agent_run', { runId: 'run_2', withdrawnCommits: [{ commitId: 'commit_3', strategy: 'replaceMessage', replaceWith: ['commit_2'] }] });
  await agent.rollback({ runId: 'run_2', checkpointId: 'cp_000001' });
  assert.deepEqual(reads, ['checkpoints/cp_000001/output/main.md']);
  assert.equal(twice.mes, TEXT);
  assert.deepEqual(extraOf(twice).commits.map(({ commitId }) => commitId), ['commit_2']);
  assert.equal(extraOf(twice).commitId, 'commit_2');
});

test('messages of others are left alone', async () => {
  const tavern = createTavern({ chat: [published()] });
  const { agent } = install({ rollback_agent_run: { runId: 'run_9', withdrawnCommits: [{ commitId: 'commit_1', strategy: 'deleteMessage' }] } }, { tavern });
  await agent.rollback({ runId: 'run_9', checkpointId: 'start' });
  assert.equal(tavern.chat.length, 1);
  assert.deepEqual(tavern.log, []);
});
