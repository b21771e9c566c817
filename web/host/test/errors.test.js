import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AgentApiError, toAgentError } from '../errors.js';
import { install } from './support.js';

const CASES = [
  ['a string with a prefix', 'Bad request: agent.profile_not_found: no such', 'agent.profile_not_found', /^Bad request: agent\.profile_not_found: no such$/],
  ['a string without a prefix', 'agent.cancelled: enough', 'agent.cancelled', /^agent\.cancelled: enough$/],
  ['a prefix without a code', 'Not found: the run', 'agent.not_found', /agent\.not_found: Not found: the run/],
  ['too many requests', 'Too many requests: slow down', 'agent.rate_limited', /slow down/],
  ['unauthorised', 'Unauthorized: who are you', 'agent.unauthorized', /who are you/],
  ['internal', 'Internal server error: oh', 'agent.internal_error', /oh/],
  ['an Error', new Error('Bad request: workspace.path_denied: no'), 'workspace.path_denied', /workspace\.path_denied: no/],
  ['an Error with a code', Object.assign(new Error('no'), { code: 'tool.policy_denied' }), 'tool.policy_denied', /tool\.policy_denied: no/],
  ['an Error of the system', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }), 'agent.internal_error', /agent\.internal_error: refused/],
  ['a problem document', { type: 'about:blank', title: 'Bad', status: 400, detail: 'no', code: 'agent.x_y' }, 'agent.x_y', /^agent\.x_y: no$/],
  ['a problem without a code', { title: 'Gone', status: 404 }, 'agent.not_found', /agent\.not_found: Gone/],
  ['an object around it', { error: 'Bad request: agent.y: z' }, 'agent.y', /agent\.y: z/],
  ['a variant', { BadRequest: 'agent.y: z' }, 'agent.y', /Bad request: agent\.y: z/],
  ['a variant without a code', { NotFound: 'z' }, 'agent.not_found', /agent\.not_found/],
  ['nothing', undefined, 'agent.internal_error', /without saying why/],
  ['something', { odd: { thing: 1 } }, 'agent.internal_error', /odd/],
];

for (const [name, thrown, code, message] of CASES) {
  test(`what is thrown becomes an Error with a code: ${name}`, () => {
    const error = toAgentError(thrown);
    assert.ok(error instanceof Error);
    assert.ok(error instanceof AgentApiError);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.ok(error.message.includes(error.code));
    assert.equal(typeof error.details, 'object');
  });
}

test('a finer reason is in the details and in the message', () => {
  const problem = { status: 400, code: 'workspace.path_denied', detail: 'no', details: { reason: 'workspace.invalid_path' } };
  const error = toAgentError(problem);
  assert.equal(error.code, 'workspace.path_denied');
  assert.equal(error.details.reason, 'workspace.invalid_path');
  assert.match(error.message, /workspace\.path_denied.*workspace\.invalid_path/);
  assert.equal(error.status, 400);
});

test('methods reject with it, whatever the backend threw, and also where it threw at once', async () => {
  for (const thrown of ['Bad request: agent.boom: x', new Error('agent.boom: x'), { code: 'agent.boom', detail: 'x' }]) {
    const { agent } = install({
      cancel_agent_run() {
        throw thrown;
      },
    });
    await assert.rejects(agent.cancel('run_1'), (error) => error instanceof AgentApiError && error.code === 'agent.boom');
  }
  const { agent } = install();
  const window = {};
  const { installAgentApi } = await import('../index.js');
  const other = installAgentApi({
    window,
    invoke() {
      throw new Error('agent.boom: at once');
    },
  });
  await assert.rejects(other.profiles.list(), { code: 'agent.boom' });
  assert.ok(agent);
});
