import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAT, WRITER, chatApi, install } from './support.js';

const SNAPSHOT = { chatCompletionPayload: { messages: [{ role: 'user', content: 'hi' }] } };
const INPUT = { chatRef: CHAT, stableChatId: 'stable', promptSnapshot: SNAPSHOT };
const start = (agent, more) => agent.startRunWithPromptSnapshot({ ...INPUT, ...more });
const dtoOf = (double) => double.sent('start_agent_run')[0];

test('the profile is looked up, then the run is started', async () => {
  const { agent, double } = install();
  const handle = await start(agent, { generationType: 'swipe', profileId: 'w', generationIntent: { a: 1 } });
  assert.equal(handle.runId, 'run_1');
  assert.deepEqual(double.calls.map(({ command, args }) => [command, args]), [
    ['load_agent_profile', { dto: { profileId: 'w' } }],
    [
      'start_agent_run',
      {
        dto: {
          ...INPUT,
          generationType: 'swipe',
          profileId: 'w',
          generationIntent: { a: 1 },
          skillScopeRefs: undefined,
          persistBaseStateId: undefined,
          options: {},
        },
      },
    ],
  ]);
});

test('what is missing is asked of the chat', async () => {
  const { agent, double } = install({}, { chat: chatApi({ ...CHAT, fileName: 'evening.jsonl' }, ' stable ') });
  await agent.startRunWithPromptSnapshot({ promptSnapshot: SNAPSHOT });
  assert.deepEqual(dtoOf(double).chatRef, CHAT);
  assert.equal(dtoOf(double).stableChatId, 'stable');
});

for (const [name, profile] of [['left out', {}], ['null', { profileId: null }], ['blank', { profileId: ' ' }]]) {
  test(`without a profile it is the default writer: ${name}`, async () => {
    const { agent, double } = install();
    await start(agent, profile);
    assert.deepEqual(double.sent('load_agent_profile'), [{ profileId: 'default-writer' }]);
  });
}

test('names with underscores are understood', async () => {
  const { agent, double } = install();
  await start(agent, {
    profile_id: 'w',
    skill_scope_refs: { preset: { api_id: ' openai ', name: ' P ' }, character_id: ' mira ' },
  });
  assert.deepEqual(double.sent('load_agent_profile'), [{ profileId: 'w' }]);
  const dto = dtoOf(double);
  assert.equal(dto.profileId, 'w');
  assert.deepEqual(dto.skillScopeRefs, { preset: { apiId: 'openai', name: 'P' }, characterId: 'mira' });
  assert.ok(!('profile_id' in dto) && !('skill_scope_refs' in dto));
});

const PRESENTATIONS = [
  [{}, {}],
  [{ presentation: 'background' }, { presentation: 'background' }],
  [{ options: { presentation: 'background' } }, { presentation: 'background' }],
  [{ presentation: 'foreground', options: { presentation: 'background', stream: true } }, { presentation: 'foreground', stream: true }],
  [{ options: { stream: false, startWithEmptyPersist: true } }, { stream: false, startWithEmptyPersist: true }],
];
for (const [given, options] of PRESENTATIONS) {
  test(`options: ${JSON.stringify(given)}`, async () => {
    const { agent, double } = install();
    await start(agent, given);
    assert.deepEqual(dtoOf(double).options, options);
  });
}

for (const promptSnapshot of [
  SNAPSHOT,
  { ...SNAPSHOT, contextPolicy: { initialChatHistoryMessages: -1, includeActivatedWorldInfo: true } },
  { contextPolicy: { initialChatHistoryMessages: 3, includeActivatedWorldInfo: false }, messages: [], generationParameters: {} },
]) {
  test(`a snapshot is sent as it is: ${Object.keys(promptSnapshot)}`, async () => {
    const { agent, double } = install();
    await start(agent, { promptSnapshot, persistBaseStateId: ' state ' });
    assert.deepEqual(dtoOf(double).promptSnapshot, promptSnapshot);
    assert.equal(dtoOf(double).persistBaseStateId, 'state');
  });
}

// In the order in which they are looked at: each is found although all that follow are wrong too.
const WRONG = [
  [{ chatRef: undefined, stableChatId: '' }, 'chatRef is required'],
  [{ chatRef: 'x' }, 'chatRef is required'],
  [{ stableChatId: ' ' }, 'stableChatId is required'],
  [{ options: 'x' }, 'agent.options_invalid'],
  [{ options: [] }, 'agent.options_invalid'],
  [{ options: null }, 'agent.options_invalid'],
  [{ options: { autoCommit: undefined, presentation: 'x' } }, 'agent.auto_commit_removed'],
  [{ options: { autoCommit: false } }, 'agent.auto_commit_removed'],
  [{ options: { presentation: 'aside' }, skillScopeRefs: 1 }, 'agent.presentation_invalid'],
  [{ presentation: 'aside' }, 'agent.presentation_invalid'],
  [{ skillScopeRefs: 'x' }, 'agent.skill_scope_refs_invalid'],
  [{ skillScopeRefs: [] }, 'agent.skill_scope_refs_invalid'],
  [{ skillScopeRefs: { preset: 'x' } }, 'agent.skill_scope_refs_preset_invalid'],
  [{ skillScopeRefs: { preset: { apiId: 'openai' } } }, 'agent.skill_scope_refs_preset_invalid'],
  [{ persistBaseStateId: ' ' }, 'agent.persist_base_state_id_empty'],
];
for (const [given, fragment] of WRONG) {
  test(`refuses before anything is asked: ${fragment} — ${JSON.stringify(given)}`, async () => {
    const { agent, double } = install({}, { chat: null });
    await assert.rejects(start(agent, given), (error) => error.message.includes(fragment));
    assert.deepEqual(double.calls, []);
  });
}

for (const answer of [{ profile: null }, null, {}]) {
  test(`a profile that is not there: ${JSON.stringify(answer)}`, async () => {
    const { agent, double } = install({ load_agent_profile: answer });
    await assert.rejects(start(agent), /agent\.profile_not_found/);
    assert.equal(dtoOf(double), undefined);
  });
}

const manager = (more) => ({ apiId: 'openai', getSelectedPreset: () => '4', getSelectedPresetName: () => ' Mine ', ...more });
const PRESETS = [
  ['agent.current_preset_context_unavailable', undefined],
  ['agent.current_preset_manager_unavailable', {}],
  ['agent.current_preset_manager_unavailable', { getPresetManager: () => null }],
  ['agent.current_preset_unsaved', { getPresetManager: () => manager({ getSelectedPreset: () => 'gui' }) }],
  ['agent.current_preset_ref_invalid', { getPresetManager: () => manager({ getSelectedPresetName: () => ' ' }) }],
  ['agent.current_preset_ref_invalid', { getPresetManager: () => manager({ apiId: undefined }) }],
];
const current = { load_agent_profile: { profile: { ...WRITER, preset: { mode: 'currentPromptSnapshot' } } } };
for (const [code, context] of PRESETS) {
  test(`the selected preset cannot be had: ${code}`, async () => {
    const { agent, double } = install(current, { window: { SillyTavern: { getContext: () => context } } });
    await assert.rejects(start(agent), { code });
    assert.equal(dtoOf(double), undefined);
  });
}

test('a page that says that it is no tavern is not asked for a preset', async () => {
  const window = { SillyTavern: { getContext: () => ({}) } };
  const { agent, double } = install(current, { window, tavern: null });
  await start(agent);
  assert.equal(dtoOf(double).skillScopeRefs, undefined);
});

test('the selected preset goes along, unless the caller names one', async () => {
  const window = { SillyTavern: { getContext: () => ({ getPresetManager: () => manager() }) } };
  const { agent, double } = install(current, { window });
  await start(agent, { skillScopeRefs: { characterId: 'mira' } });
  await start(agent, { skillScopeRefs: { preset: { apiId: 'a', name: 'n' } } });
  const refs = double.sent('start_agent_run').map((dto) => dto.skillScopeRefs);
  assert.deepEqual(refs, [{ characterId: 'mira', preset: { apiId: 'openai', name: 'Mine' } }, { preset: { apiId: 'a', name: 'n' } }]);
});

test('a model of the page is saved as a connection before the run is started', async () => {
  const order = [];
  const chat = chatApi();
  const { agent, win } = install(
    {
      load_agent_profile: { profile: { ...WRITER, model: { mode: 'connectionRef', connectionRef: 'target:1', modelId: 'm' } } },
      start_agent_run: () => order.push('start') && { runId: 'run_1' },
    },
    { chat, tavern: { materializeModelTarget: (ref, { modelId }) => ({ id: ref, modelId }) } },
  );
  win.__TAURITAVERN__.api.llmConnections = { save: async (connection) => order.push(connection) };
  await start(agent);
  assert.deepEqual(order, [{ id: 'target:1', modelId: 'm' }, 'start']);
});

test('a run that was started or resumed is followed, and keeps no process running', async () => {
  const unrefs = [];
  const timers = { setTimeout: (run, ms) => ({ unref: () => unrefs.push(ms) }), clearTimeout() {} };
  const { agent } = install({ resume_agent_run: { runId: 'run_1' } }, { timers });
  await start(agent);
  assert.deepEqual(agent.bridge.attachedRuns(), ['run_1']);
  assert.deepEqual(unrefs, [0]);
  agent.bridge.detachAll();
  await agent.resume({ runId: 'run_1', checkpoint: { nextStep: 'model', terminalSeq: 4 } });
  assert.deepEqual(agent.bridge.attachedRuns(), ['run_1']);
  agent.subscribe('run_1', () => {});
  assert.deepEqual(unrefs, [0, 0]);
});

const CHECKPOINT = {
  run: { runId: 'run_1', chatRef: CHAT, stableChatId: 'stable' },
  terminalSeq: 9,
  presentation: 'foreground',
  nextStep: 'model',
};

test('a run is resumed where it stands', async () => {
  const { agent, double } = install({ read_agent_run_checkpoint: CHECKPOINT, resume_agent_run: { runId: 'run_1', status: 'calling_model' } });
  const handle = await agent.resume({ runId: ' run_1 ', additionalRounds: 3 });
  assert.equal(handle.afterSeq, 9);
  const sent = { runId: 'run_1', expectedTerminalSeq: 9, chatRef: CHAT, stableChatId: 'stable', hostPresentation: 'foreground' };
  assert.deepEqual(double.calls.map(({ command, dto }) => [command, dto]), [
    ['read_agent_run_checkpoint', { runId: 'run_1' }],
    ['resume_agent_run', { ...sent, additionalRounds: 3 }],
  ]);
});

test('a revision tells what was written before', async () => {
  const mine = { mes: 'Once.', extra: { tauritavern: { agent: { version: 1, runId: 'run_1', commits: [] } } } };
  const { agent, double } = install({ resume_agent_run: { runId: 'run_1', afterSeq: 11 } }, { tavern: { chat: [{ mes: 'hi' }, mine] } });
  const handle = await agent.resume({ runId: 'run_1', checkpoint: { ...CHECKPOINT, nextStep: 'finished' }, revisionGuidance: ' shorter ' });
  assert.equal(handle.afterSeq, 11);
  assert.deepEqual(double.sent('resume_agent_run')[0].revision, { guidance: 'shorter', previousOutput: 'Once.' });
});

for (const [code, input] of [
  ['agent.resume_rounds_invalid', { additionalRounds: 0 }],
  ['agent.resume_checkpoint_mismatch', { checkpoint: { run: { runId: 'other' } } }],
  ['agent.resume_checkpoint_mismatch', { checkpoint: 'x' }],
  ['agent.resume_unavailable', { checkpoint: { nextStep: 'unavailable', blockedReason: 'slimmed' } }],
  ['agent.resume_unavailable', { checkpoint: { nextStep: 'finished' } }],
]) {
  test(`a run is not resumed: ${code} ${JSON.stringify(input)}`, async () => {
    const { agent, double } = install();
    await assert.rejects(agent.resume({ runId: 'run_1', ...input }), { code });
    assert.deepEqual(double.calls, []);
  });
}
