import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install, settle } from './support.js';

const DEFINITION = { extensionId: ' weather ', name: 'now', description: 'The weather', inputSchema: { type: 'object' } };

async function registered(execute, handlers = {}) {
  let channel;
  const { agent, double } = install({
    register_agent_extension_tool: (_dto, args) => ((channel = args.channel), { registrationId: 'reg_1', toolId: 'extension/weather:now' }),
    resolve_agent_extension_tool_call: undefined,
    ...handlers,
  });
  const registration = await agent.tools.register(DEFINITION, execute);
  return { channel, double, registration, answers: () => double.sent('resolve_agent_extension_tool_call') };
}

test('a tool of an extension is registered and called', async () => {
  const seen = [];
  const { channel, double, registration, answers } = await registered(async (args, context) => {
    seen.push([args, context.runId, context.target, context.signal instanceof AbortSignal]);
    return { degrees: 20 };
  });
  assert.deepEqual(double.sent('register_agent_extension_tool'), [
    { extensionId: 'weather', name: 'now', description: 'The weather', inputSchema: { type: 'object' }, contexts: ['chat'], enabled: true },
  ]);
  assert.equal(registration.toolId, 'extension/weather:now');
  const call = { kind: 'call', requestId: 'q1', arguments: { city: 'Ulm' }, context: { runId: 'run_1', invocationId: 'inv_root', callId: 'c1', target: { kind: 'chat' } } };
  channel.onmessage(call);
  channel.onmessage(call);
  await settle();
  assert.deepEqual(seen, [[{ city: 'Ulm' }, 'run_1', { kind: 'chat' }, true]]);
  assert.deepEqual(answers(), [{ requestId: 'q1', result: { kind: 'value', value: { degrees: 20 } } }]);
});

test('what it throws is told, what it does not say is null', async () => {
  let turn = 0;
  const { channel, answers } = await registered(() => {
    turn += 1;
    if (turn === 1) throw new Error('no weather');
  });
  channel.onmessage({ kind: 'call', requestId: 'q1' });
  await settle();
  channel.onmessage({ kind: 'call', requestId: 'q2' });
  await settle();
  assert.deepEqual(answers().map(({ result }) => result), [{ kind: 'error', message: 'no weather' }, { kind: 'value', value: null }]);
});

test('a call that is taken back is aborted and not answered', async () => {
  const reasons = [];
  const { channel, answers } = await registered((_args, { signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(reasons.push(signal.reason.code)))));
  channel.onmessage({ kind: 'call', requestId: 'q1' });
  channel.onmessage({ kind: 'cancel', requestId: 'q1' });
  await settle();
  assert.deepEqual(reasons, ['agent.cancelled']);
  assert.deepEqual(answers(), []);
});

test('a tool that was taken back says so', async () => {
  const { channel, registration, answers } = await registered(() => 1);
  registration.unregister();
  channel.onmessage({ kind: 'call', requestId: 'q1' });
  await settle();
  assert.match(answers()[0].result.message, /extension\.tool_unavailable/);
});

for (const bad of [{ ...DEFINITION, name: ' ' }, { ...DEFINITION, inputSchema: 'x' }, { ...DEFINITION, contexts: ['page'] }, { ...DEFINITION, contexts: [] }, { ...DEFINITION, description: '' }]) {
  test(`a definition is refused: ${JSON.stringify(bad)}`, async () => {
    const { agent, double } = install();
    await assert.rejects(agent.tools.register(bad, () => {}), { code: 'extension.tool_invalid' });
    assert.deepEqual(double.calls, []);
  });
}
