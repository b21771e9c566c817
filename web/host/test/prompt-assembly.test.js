import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPayload } from '../prompt-builder.js';
import { install } from './support.js';

const freeze = (value) => {
  if (value && typeof value === 'object') Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};
const FROZEN = freeze({
  schemaVersion: 1,
  kind: 'tauritavern.agentFrozenRunInputSnapshot',
  generationType: 'normal',
  promptInputs: {
    type: 'normal',
    messages: [{ role: 'user', content: 'third' }, { is_user: false, mes: 'second' }, { is_user: true, mes: 'first' }],
    worldInfoBefore: 'The inn.',
    charDescription: '{{char}} keeps it.',
  },
  worldInfoActivation: { entries: [] },
  macroContext: { names: { user: 'You', char: 'Mira' } },
});
const PROMPTS = [
  { identifier: 'main', role: 'system', content: 'Write for {{user}}.' },
  { identifier: 'near', role: 'system', content: 'near', injection_position: 1, injection_depth: 1 },
  { identifier: 'close', role: 'user', content: 'close', injection_position: 1, injection_depth: 1 },
  { identifier: 'far', role: 'system', content: 'far', injection_position: 1, injection_depth: 99 },
  { identifier: 'off', content: 'off' },
];
const ORDER = ['near', 'close', 'far', 'main', 'worldInfoBefore', 'charDescription', 'chatHistory'];
const settings = {
  temp_openai: 0.5,
  openai_max_tokens: 300,
  prompts: PROMPTS,
  prompt_order: [{ character_id: 100001, order: [...ORDER.map((identifier) => ({ identifier, enabled: true })), { identifier: 'off', enabled: false }] }],
};
const texts = (payload) => payload.messages.map(({ role, content }) => `${role[0]}:${content}`);

test('a prompt is built in the order of the preset, with what it puts into the chat at its depth', () => {
  const payload = buildPayload({ frozenRunInputSnapshot: FROZEN, settings });
  assert.deepEqual(texts(payload), ['s:Write for You.', 's:The inn.', 's:Mira keeps it.', 's:far', 'u:first', 'a:second', 's:near', 'u:close', 'u:third']);
  assert.equal(payload.temperature, 0.5);
  assert.equal(payload.max_tokens, 300);
});

for (const [count, expected] of [[-1, 3], [0, 0], [2, 2], [9, 3]]) {
  test(`of the chat it has the newest ${count}`, () => {
    const { messages } = buildPayload({ frozenRunInputSnapshot: FROZEN, settings: {}, contextPolicy: { initialChatHistoryMessages: count, includeActivatedWorldInfo: false } });
    assert.equal(messages.filter(({ role }) => role !== 'system').length, expected);
    assert.ok(!messages.some(({ content }) => content === 'The inn.'));
  });
}

for (const [code, request] of [
  ['prompt_assembly.generation_type_mismatch', { generationType: 'swipe', frozenRunInputSnapshot: FROZEN }],
  ['agent.frozen_run_input_prompt_inputs_required', { frozenRunInputSnapshot: {} }],
  ['agent.prompt_assembly_request_missing', { kind: 'x', frozenRunInputSnapshot: FROZEN }],
]) {
  test(`a prompt is not built: ${code}`, () => assert.throws(() => buildPayload(request), { code }));
}

test('a snapshot is built without asking anybody', async () => {
  const { agent, double } = install();
  const payload = { messages: [{ role: 'user', content: 'x' }] };
  const policy = { initialChatHistoryMessages: -1, includeActivatedWorldInfo: true };
  for (const name of ['chatCompletionPayload', 'chat_completion_payload', 'generateData', 'generate_data']) {
    const built = await agent.promptAssembly.buildSnapshot({ [name]: payload, frozenRunInputSnapshot: FROZEN, contextPolicy: policy, generationIntent: { a: 1 } });
    assert.deepEqual(built, {
      promptSnapshot: { chatCompletionPayload: payload, contextPolicy: policy, worldInfoActivation: { entries: [] } },
      frozenRunInputSnapshot: FROZEN,
      generationIntent: { a: 1 },
      assembly: { mode: 'currentPromptSnapshot' },
    });
  }
  assert.deepEqual(double.calls, []);
  await assert.rejects(agent.promptAssembly.buildSnapshot({ frozenRunInputSnapshot: FROZEN }), { code: 'agent.current_prompt_snapshot_seed_required' });
  await assert.rejects(agent.promptAssembly.buildSnapshot({ chatCompletionPayload: payload }), { code: 'agent.frozen_run_input_snapshot_required' });
});

test('a tavern that builds prompts itself does so', async () => {
  const request = { frozenRunInputSnapshot: FROZEN, settings };
  const { agent } = install({}, { tavern: { assemblePrompt: (asked) => ({ messages: [{ role: 'user', content: asked.settings.temp_openai }] }) } });
  const { promptSnapshot, assembly } = await agent.promptAssembly.buildSnapshot({ request });
  assert.deepEqual(promptSnapshot.chatCompletionPayload.messages[0].content, 0.5);
  assert.equal(assembly.mode, 'frontendPromptAssembly');
});
