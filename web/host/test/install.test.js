import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { installAgentApi, createDoubleTransport } from '../index.js';
import { CHAT, createManualClock, install } from './support.js';

afterEach(() => {
  delete globalThis.window;
  delete globalThis.__TAURITAVERN__;
});

const invoke = async () => undefined;

test('the window is looked up when it is installed', async () => {
  globalThis.window = {};
  const agent = installAgentApi({ invoke });
  assert.equal(globalThis.window.__TAURITAVERN__.api.agent, agent);
  await globalThis.window.__TAURITAVERN__.ready;
});

test('without a window the global object is one', () => {
  const agent = installAgentApi({ invoke });
  assert.equal(globalThis.__TAURITAVERN__.api.agent, agent);
});

test('what is there is kept', () => {
  const ready = new Promise(() => {});
  const chat = {};
  globalThis.window = { __TAURITAVERN__: { abiVersion: 3, ready, api: { chat } } };
  const root = globalThis.window.__TAURITAVERN__;
  installAgentApi({ invoke });
  assert.equal(globalThis.window.__TAURITAVERN__, root);
  assert.equal(root.ready, ready);
  assert.equal(root.api.chat, chat);
  assert.equal(root.abiVersion, 3);
});

test('an api that is frozen gets a successor with the same members', () => {
  const chat = {};
  globalThis.window = { __TAURITAVERN__: { api: Object.freeze({ chat }) } };
  const agent = installAgentApi({ invoke });
  assert.equal(globalThis.window.__TAURITAVERN__.api.agent, agent);
  assert.equal(globalThis.window.__TAURITAVERN__.api.chat, chat);
});

test('a root that is frozen takes the agent into its api', () => {
  globalThis.window = { __TAURITAVERN__: Object.freeze({ api: {} }) };
  const agent = installAgentApi({ invoke });
  assert.equal(globalThis.window.__TAURITAVERN__.api.agent, agent);
});

for (const context of [undefined, {}, { invoke: 'x' }, { safeInvoke: null }]) {
  test(`without something to call it throws at once: ${JSON.stringify(context)}`, () => {
    globalThis.window = {};
    assert.throws(() => installAgentApi(context), /invoke/);
    assert.equal(globalThis.window.__TAURITAVERN__, undefined);
  });
}

test('safeInvoke is another name of invoke', async () => {
  globalThis.window = {};
  const double = createDoubleTransport({ list_agent_profiles: { profiles: [] } });
  const agent = installAgentApi({ safeInvoke: double.invoke });
  assert.deepEqual(await agent.profiles.list(), { profiles: [] });
});

test('methods work without their object', async () => {
  const { agent, double } = install({ cancel_agent_run: { runId: 'run_1' }, list_agent_profiles: {} });
  const { cancel, profiles } = agent;
  const { list } = profiles;
  await cancel('run_1');
  await list();
  assert.deepEqual(double.calls.map((call) => call.command), ['cancel_agent_run', 'list_agent_profiles']);
});

test('capabilities are plain, true or false, and frozen; authors may add to the rest', () => {
  const { agent } = install();
  assert.ok(Object.isFrozen(agent.capabilities));
  for (const value of Object.values(agent.capabilities)) assert.equal(typeof value, 'boolean');
  for (const name of ['approve', 'diff', 'rollback', 'resume', 'stream', 'listRuns']) assert.equal(agent.capabilities[name], true);
  assert.equal(agent.capabilities.push, false);
  assert.equal(install({}, { push: true }).agent.capabilities.push, true);
  agent.mine = 1;
  agent.profiles.mine = 1;
  assert.equal(agent.startRun, undefined);
});

test('one that is installed in its place takes over from the one before', async () => {
  const window = {};
  const answers = { load_agent_profile: { profile: { id: 'w' } }, start_agent_run: { runId: 'run_1' } };
  const { timers } = createManualClock();
  const first = installAgentApi({ invoke: createDoubleTransport(answers).invoke, window, timers });
  await first.startRunWithPromptSnapshot({ chatRef: CHAT, stableChatId: 's', promptSnapshot: {} });
  assert.deepEqual(first.bridge.attachedRuns(), ['run_1']);
  installAgentApi({ invoke, window, timers });
  assert.deepEqual(first.bridge.attachedRuns(), []);
});
