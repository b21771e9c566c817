import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAT, chatApi, createTavern, install } from './support.js';

const MESSAGES = [{ role: 'user', content: 'hi' }];
const ENTRY = { world: 'w', uid: 3, comment: '', key: ['tea'], constant: 0, content: 'Tea is hot.', position: 4 };

/** A tavern whose generation tells these events. */
function generating(events, more) {
  const tavern = createTavern({
    chat: [{ name: 'You', is_user: true, mes: 'hi' }, { name: 'Mira', mes: 'hello' }],
    name1: 'You',
    name2: 'Mira',
    ...more,
  });
  tavern.generated = [];
  tavern.generate = async (...args) => {
    tavern.generated.push(args);
    for (const [name, ...told] of events) tavern.emit(name, ...told);
  };
  delete tavern.saveReply;
  return tavern;
}

const NORMAL = [
  ['wisd', { activated: { entries: new Map() } }],
  ['gad', { messages: [{ role: 'user', content: 'not this' }] }, false],
  ['wisd', { activated: { entries: new Map([['w.3', ENTRY]]) } }],
  ['gad', { messages: MESSAGES, temperature: 1, signal: new AbortController().signal }, true],
];

test('what the tavern would have sent is the prompt', async () => {
  const tavern = generating(NORMAL);
  const { agent, double } = install({ prepare_agent_prompt_assembly: { mode: 'currentPromptSnapshot' } }, { tavern });
  const handle = await agent.startRunFromLegacyGenerate({
    generationType: ' swipe ',
    profileId: 'w',
    generateOptions: { quiet_prompt: 'x' },
    generationIntent: { generateOptions: { more: 1 }, mine: true },
    options: { stream: false, presentation: 'foreground' },
  });
  assert.equal(handle.runId, 'run_1');
  assert.deepEqual(tavern.generated, [['swipe', { quiet_prompt: 'x' }, true]]);
  assert.equal(tavern.listening('gad') + tavern.listening('wisd'), 0);
  assert.deepEqual(double.calls.map(({ command }) => command), [
    'prepare_agent_prompt_assembly',
    'load_agent_profile',
    'start_agent_run',
  ]);
  const [dto] = double.sent('start_agent_run');
  assert.deepEqual(dto.promptSnapshot, {
    chatCompletionPayload: { messages: MESSAGES, temperature: 1 },
    worldInfoActivation: {
      timestampMs: 1_700_000_000_000,
      trigger: 'swipe',
      entries: [{ world: 'w', uid: 3, displayName: 'tea', constant: false, content: 'Tea is hot.', position: 'depth' }],
    },
  });
  assert.deepEqual(dto.generationIntent, {
    source: 'legacyGenerate',
    generationType: 'swipe',
    generateOptions: { quiet_prompt: 'x', more: 1 },
    mine: true,
  });
  assert.equal(dto.generationType, 'swipe');
  assert.equal('generateOptions' in dto, false);
  assert.deepEqual(dto.options, { stream: false, presentation: 'foreground' });
  assert.deepEqual([dto.chatRef, dto.stableChatId], [CHAT, 'stable']);
  const [prepared] = double.sent('prepare_agent_prompt_assembly');
  assert.deepEqual(prepared.frozenRunInputSnapshot, dto.frozenRunInputSnapshot);
  assert.equal(prepared.profileId, 'w');
  const frozen = dto.frozenRunInputSnapshot;
  assert.equal(frozen.kind, 'tauritavern.agentFrozenRunInputSnapshot');
  assert.deepEqual(frozen.promptInputs.messages.map(({ content }) => content), ['hello', 'hi']);
  assert.deepEqual(frozen.macroContext.names, { user: 'You', char: 'Mira' });
});

test('nothing at all need be said', async () => {
  const tavern = generating(NORMAL);
  const { agent, double } = install({ prepare_agent_prompt_assembly: undefined }, { tavern });
  await agent.startRunFromLegacyGenerate();
  assert.deepEqual(tavern.generated, [['normal', {}, true]]);
  assert.equal(double.sent('start_agent_run')[0].generationType, 'normal');
});

test('a tavern that hands out messages alone has the rest among its settings', async () => {
  const tavern = generating([['gad', { prompt: MESSAGES }, true]], {
    chatCompletionSettings: { temp_openai: 0.7, chat_completion_source: 'claude' },
    getChatCompletionModel: () => 'm-1',
  });
  const { agent, double } = install({ prepare_agent_prompt_assembly: {} }, { tavern });
  await agent.startRunFromLegacyGenerate();
  assert.deepEqual(double.sent('start_agent_run')[0].promptSnapshot.chatCompletionPayload, {
    temperature: 0.7,
    chat_completion_source: 'claude',
    model: 'm-1',
    messages: MESSAGES,
  });
});

test('where the profile has a preset of its own, the prompt is built anew', async () => {
  const tavern = generating(NORMAL);
  const request = {
    kind: 'tauritavern.agentPromptAssemblyRequest',
    settings: { temperature: 0.2, prompts: [{ identifier: 'main', role: 'system', content: 'You are {{char}}.' }] },
    contextPolicy: { initialChatHistoryMessages: 1, includeActivatedWorldInfo: false },
  };
  const { agent, double } = install({ prepare_agent_prompt_assembly: { mode: 'frontendPromptAssembly', request } }, { tavern });
  await agent.startRunFromLegacyGenerate();
  assert.deepEqual(double.sent('start_agent_run')[0].promptSnapshot, {
    chatCompletionPayload: {
      temperature: 0.2,
      messages: [
        { role: 'system', content: 'You are Mira.' },
        { role: 'assistant', content: 'hello' },
      ],
    },
    contextPolicy: { initialChatHistoryMessages: 1, includeActivatedWorldInfo: false },
  });
});

const REFUSED = [
  ['agent.phase2b_chat_completion_required', {}, undefined],
  ['agent.phase2b_chat_completion_required', {}, generating(NORMAL, { mainApi: 'kobold' })],
  ['agent.generate_options_invalid', { generateOptions: 'x' }, undefined],
  ['agent.generate_options_invalid', { generateOptions: [] }, undefined],
  ['agent.presentation_invalid', { presentation: 'x' }, generating(NORMAL)],
  ['agent.options_invalid', { options: 1 }, generating(NORMAL)],
  ['agent.auto_commit_removed', { options: { autoCommit: true } }, generating(NORMAL)],
  ['agent.prompt_snapshot_missing', {}, generating([])],
  ['agent.prompt_snapshot_missing', {}, generating([['gad', { messages: MESSAGES }, false]])],
  ['agent.prompt_snapshot_messages_required', {}, generating([['gad', { prompt: 'text' }, true]])],
  ['agent.prompt_snapshot_messages_required', {}, generating([['gad', { messages: [] }, true]])],
  ['agent.active_chat_required', { chatRef: { ...CHAT, fileName: 'other' } }, generating(NORMAL)],
];
for (const [fragment, input, tavern] of REFUSED) {
  test(`no run is started: ${fragment} ${JSON.stringify(input)}`, async () => {
    const { agent, double } = install({}, { tavern });
    await assert.rejects(agent.startRunFromLegacyGenerate(input), (error) => error.message.includes(fragment));
    assert.deepEqual(double.calls, []);
    if (tavern) assert.equal(tavern.listening('gad'), 0);
  });
}

test('without a chat there is no run', async () => {
  const { agent } = install({ prepare_agent_prompt_assembly: {} }, { tavern: generating(NORMAL), chat: chatApi(null) });
  await assert.rejects(agent.startRunFromLegacyGenerate(), /chatRef is required/);
});

test('a tavern that fails leaves nobody listening', async () => {
  const tavern = generating([]);
  tavern.generate = async () => {
    throw new Error('no connection');
  };
  const { agent } = install({}, { tavern });
  await assert.rejects(agent.startRunFromLegacyGenerate(), /no connection/);
  assert.equal(tavern.listening('gad') + tavern.listening('wisd'), 0);
});

test('what is in two places of the prompt stays in both, what goes in circles does not', async () => {
  const data = { messages: MESSAGES, again: MESSAGES, nothing: null, run() {} };
  data.self = data;
  const { agent, double } = install({ prepare_agent_prompt_assembly: {} }, { tavern: generating([['gad', data, true]]) });
  await agent.startRunFromLegacyGenerate();
  const { chatCompletionPayload } = double.sent('start_agent_run')[0].promptSnapshot;
  assert.deepEqual(chatCompletionPayload, { messages: MESSAGES, again: MESSAGES, nothing: null });
});

test('a tavern without api.chat says itself which chat is open', async () => {
  const mira = { characters: [{ avatar: 'Mira.png' }], characterId: 0, groupId: null, chatId: 'evening', chatMetadata: { integrity: 'abc' } };
  const group = { groupId: 'g', chatId: 'g-1' };
  const expected = [
    [mira, { kind: 'character', characterId: 'Mira', fileName: 'evening' }, 'abc'],
    [group, { kind: 'group', chatId: 'g-1' }, 'g-1'],
  ];
  for (const [context, chatRef, stableChatId] of expected) {
    const { agent, double } = install({ prepare_agent_prompt_assembly: {} }, { tavern: generating(NORMAL, context), chat: null });
    await agent.startRunFromLegacyGenerate();
    const [dto] = double.sent('start_agent_run');
    assert.deepEqual([dto.chatRef, dto.stableChatId], [chatRef, stableChatId]);
  }
});

test('a prompt that the tavern made for itself meanwhile is not taken for ours', async () => {
  const started = ['generation_started', 'normal', {}, true];
  const theirs = ['gad', { messages: [{ role: 'user', content: 'theirs' }] }, true];
  const ours = ['gad', { messages: MESSAGES }, true];
  const events = [started, started, ours, theirs];
  const tavern = generating(events);
  const { agent, double } = install({ prepare_agent_prompt_assembly: {} }, { tavern });
  await assert.rejects(agent.startRunFromLegacyGenerate(), { code: 'agent.prompt_snapshot_missing' });
  assert.equal(tavern.generated.length, 3);
  const { generate } = tavern;
  tavern.generate = async (...args) => {
    await generate(...args);
    events.splice(0, events.length, started, ours);
  };
  await agent.startRunFromLegacyGenerate();
  assert.equal(tavern.generated.length, 5);
  assert.deepEqual(double.sent('start_agent_run')[0].promptSnapshot.chatCompletionPayload.messages, MESSAGES);
});

test('a generation inside another leaves the outer one its way to be stopped', async () => {
  const signals = [];
  const tavern = generating(NORMAL);
  const { generate } = tavern;
  tavern.generate = (type, { signal, ...options }, dryRun) => signals.push(signal) && generate(type, options, dryRun);
  const { agent } = install({ prepare_agent_prompt_assembly: {} }, { tavern });
  await agent.startRunFromLegacyGenerate();
  const { signal } = new AbortController();
  await agent.startRunFromLegacyGenerate({ generateOptions: { signal } });
  assert.ok(signals[0] instanceof AbortSignal);
  assert.equal(signals[1], signal);
});

test('a tavern that brings the function has its own request, without what is secret', async () => {
  const tavern = generating([['gad', { prompt: MESSAGES }, true]], {
    chatCompletionSettings: { s: 1 },
    getChatCompletionModel: () => 'm',
    createGenerationParameters: async (settings, model, type, messages) => ({
      generate_data: { settings, model, type, messages, temperature: 1, proxy_password: 'x', custom_include_headers: 'y' },
    }),
  });
  const { agent, double } = install({ prepare_agent_prompt_assembly: {} }, { tavern });
  await agent.startRunFromLegacyGenerate();
  assert.deepEqual(double.sent('start_agent_run')[0].promptSnapshot.chatCompletionPayload, {
    settings: { s: 1 },
    model: 'm',
    type: 'normal',
    messages: MESSAGES,
    temperature: 1,
  });
});
