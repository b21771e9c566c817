import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install, settle } from './support.js';

const event = (seq, type = 'status_changed') => ({ seq, type, runId: 'run_1', payload: null });

/** A journal that can grow, read as the backend reads it. */
function journal(...events) {
  const reads = [];
  return {
    events,
    reads,
    read(dto) {
      reads.push(dto);
      return { events: events.filter(({ seq }) => seq > dto.afterSeq).slice(0, dto.limit) };
    },
  };
}

const polling = (log) => install({ read_agent_run_events: (dto) => log.read(dto) });

test('the journal is polled: at once, then half a second after each answer', async () => {
  const log = journal(event(1), event(2));
  const { agent, clock } = polling(log);
  const heard = [];
  const stop = agent.subscribe(' run_1 ', ({ seq }) => heard.push(seq));
  assert.deepEqual(log.reads, []);
  assert.deepEqual(clock.waits(), [0]);
  await clock.advance(0);
  assert.deepEqual(log.reads, [{ runId: 'run_1', afterSeq: 0, beforeSeq: undefined, limit: 100 }]);
  assert.deepEqual(heard, [1, 2]);
  assert.deepEqual(clock.waits(), [500]);
  log.events.push(event(3));
  await clock.advance(499);
  assert.equal(log.reads.length, 1);
  await clock.advance(1);
  assert.deepEqual(heard, [1, 2, 3]);
  assert.equal(log.reads[1].afterSeq, 2);
  stop();
  stop();
  await clock.advance(5000);
  assert.equal(log.reads.length, 2);
  assert.deepEqual(clock.waits(), []);
});

test('the next poll waits for the one before', async () => {
  let answer;
  const { agent, clock, double } = install({ read_agent_run_events: () => new Promise((resolve) => (answer = resolve)) });
  agent.subscribe('run_1', () => {});
  await clock.advance(10_000);
  assert.equal(double.calls.length, 1);
  answer({ events: [] });
  await settle();
  assert.deepEqual(clock.waits(), [500]);
});

for (const [intervalMs, expected] of [[100, 100], [99, 500], [-1, 500], [NaN, 500], [Infinity, 500], ['x', 500], [undefined, 500], [2000, 2000]]) {
  test(`intervalMs ${intervalMs} is ${expected}`, async () => {
    const { agent, clock } = polling(journal());
    agent.subscribe('run_1', () => {}, { intervalMs });
    await clock.advance(0);
    assert.deepEqual(clock.waits(), [expected]);
  });
}

test('afterSeq and limit are those of the caller', async () => {
  const log = journal(...[1, 2, 3, 4].map((seq) => event(seq)));
  const { agent, clock } = polling(log);
  const heard = [];
  agent.subscribe('run_1', ({ seq }) => heard.push(seq), { afterSeq: 1, limit: 2 });
  await clock.advance(0);
  assert.deepEqual(heard, [2, 3]);
  await clock.advance(500);
  assert.deepEqual(heard, [2, 3, 4]);
});

test('a handler that throws is told of; its event is not repeated, what follows comes with the next poll', async () => {
  const log = journal(event(1), event(2), event(3));
  const { agent, clock } = polling(log);
  const heard = [];
  const errors = [];
  agent.subscribe(
    'run_1',
    ({ seq }) => {
      heard.push(seq);
      if (seq === 2) throw new Error('oh');
    },
    { onError: (error) => errors.push(error.message) },
  );
  await clock.advance(0);
  assert.deepEqual(heard, [1, 2]);
  assert.deepEqual(errors, ['oh']);
  await clock.advance(500);
  assert.deepEqual(heard, [1, 2, 3]);
  assert.equal(log.reads[1].afterSeq, 2);
});

test('a poll that fails is told of, and the next one follows', async () => {
  const { agent, clock, double } = install({ read_agent_run_events: new Error('Not found: agent.not_found: no run') });
  const errors = [];
  agent.subscribe('run_1', () => {}, { onError: (error) => errors.push(error.code) });
  await clock.advance(0);
  double.on('read_agent_run_events', { events: [event(1)] });
  await clock.advance(500);
  assert.deepEqual(errors, ['agent.not_found']);
  assert.equal(double.calls.length, 2);
});

test('without onError the page is told, and polling goes on', async (t) => {
  const uncaught = [];
  const catcher = (error) => uncaught.push(error.message);
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', catcher);
  t.after(() => process.removeListener('uncaughtException', catcher));
  const { agent, clock } = polling(journal(event(1)));
  agent.subscribe('run_1', () => {
    throw new Error('mine');
  });
  await clock.advance(0);
  assert.deepEqual(uncaught, ['mine']);
  assert.deepEqual(clock.waits(), [500]);
});

for (const type of ['run_completed', 'run_partial_success', 'run_cancelled', 'run_failed']) {
  test(`it ends by itself behind ${type}, after all of that page`, async () => {
    const log = journal(event(1), event(2, type), event(3, 'agent_invocation_completed'));
    const { agent, clock } = polling(log);
    const heard = [];
    agent.subscribe('run_1', ({ seq }) => heard.push(seq));
    await clock.advance(10_000);
    assert.deepEqual(heard, [1, 2, 3]);
    assert.equal(log.reads.length, 1);
    assert.deepEqual(clock.waits(), []);
  });
}

test('an end that was taken back is none', async () => {
  const log = journal(event(1, 'run_completed'), event(2, 'run_resumed'));
  const { agent, clock } = polling(log);
  const heard = [];
  agent.subscribe('run_1', ({ seq }) => heard.push(seq));
  await clock.advance(0);
  log.events.push(event(3, 'run_failed'));
  await clock.advance(500);
  assert.deepEqual(heard, [1, 2, 3]);
  assert.deepEqual(clock.waits(), []);
});

test('a handler that throws at the end does not keep it open', async () => {
  const { agent, clock } = polling(journal(event(1, 'run_completed')));
  agent.subscribe('run_1', () => { throw new Error('x'); }, { onError() {} });
  await clock.advance(0);
  assert.deepEqual(clock.waits(), []);
});

test('a handler that throws at the end still gets what followed on it', async () => {
  const { agent, clock } = polling(journal(event(1, 'run_completed'), event(2)));
  const heard = [];
  agent.subscribe('run_1', ({ seq }) => { heard.push(seq); if (seq === 1) throw new Error('x'); }, { onError() {} });
  await clock.advance(1000);
  assert.deepEqual(heard, [1, 2]);
  assert.deepEqual(clock.waits(), []);
});

test('who leaves in the middle of a page hears no more', async () => {
  const { agent, clock } = polling(journal(event(1), event(2)));
  const heard = [];
  const stop = agent.subscribe('run_1', ({ seq }) => {
    heard.push(seq);
    stop();
  });
  await clock.advance(1000);
  assert.deepEqual(heard, [1]);
});

test('what is missing is said at once', () => {
  const { agent } = install();
  assert.throws(() => agent.subscribe('run_1'), /handler is required/);
  assert.throws(() => agent.subscribe('run_1', {}), /handler is required/);
  assert.throws(() => agent.subscribe(' ', () => {}), /runId is required/);
  assert.throws(() => agent.subscribeLiveProjection('run_1'), /handler is required/);
});

test('timers are those of the page', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const log = journal(event(1));
  const { agent } = install({ read_agent_run_events: (dto) => log.read(dto) }, { timers: undefined });
  agent.subscribe('run_1', () => {});
  t.mock.timers.tick(0);
  await settle();
  t.mock.timers.tick(499);
  await settle();
  assert.equal(log.reads.length, 1);
  t.mock.timers.tick(1);
  await settle();
  assert.equal(log.reads.length, 2);
});

test('where the transport pushes, nothing is polled, and the contract is the same', async () => {
  const { agent, double, clock } = install({}, { push: true });
  const heard = [];
  const errors = [];
  agent.subscribe(
    'run_1',
    ({ seq }) => {
      heard.push(seq);
      if (seq === 5) throw new Error('oh');
    },
    { afterSeq: 3, onError: (error) => errors.push(error.message) },
  );
  await clock.advance(0);
  assert.equal(double.followers()[0].options.afterSeq, 3);
  double.emit('run_1', event(3), event(4), event(5), event(5), event(6));
  assert.deepEqual(heard, [4, 5, 6]);
  assert.deepEqual(errors, ['oh']);
  double.emit('run_1', event(7, 'run_completed'), event(8));
  await settle();
  assert.deepEqual(heard, [4, 5, 6, 7, 8]);
  assert.deepEqual(double.followers(), []);
  assert.deepEqual(double.calls, []);
});

test('invoke may bring the push, and leaving twice is leaving once', async () => {
  const left = [];
  const { agent, clock } = install();
  assert.equal(agent.capabilities.push, false);
  const { installAgentApi } = await import('../index.js');
  const invoke = async () => undefined;
  invoke.subscribe = (runId, handler) => {
    handler(event(1));
    return () => left.push(runId);
  };
  const other = installAgentApi({ invoke, window: {}, timers: clock.timers });
  const heard = [];
  const stop = other.subscribe('run_1', ({ seq }) => heard.push(seq));
  assert.deepEqual(heard, []);
  await clock.advance(0);
  assert.deepEqual(heard, [1]);
  stop();
  stop();
  assert.deepEqual(left, ['run_1']);
});

test('a push that cannot be had gives way to polling, from where it was', async () => {
  const log = journal(event(1), event(2));
  const { agent, double, clock } = install({ read_agent_run_events: (dto) => log.read(dto) }, { push: true });
  const heard = [];
  agent.subscribe('run_1', ({ seq }) => heard.push(seq));
  await clock.advance(0);
  double.emit('run_1', event(1));
  double.followers()[0].options.onUnavailable();
  await clock.advance(0);
  assert.deepEqual(heard, [1, 2]);
  assert.equal(log.reads[0].afterSeq, 1);
});

test('a turn is followed while it is written, where the transport can', async () => {
  const { agent, double, clock } = install({}, { push: true });
  const heard = [];
  const stop = agent.subscribeLiveProjection('run_1', (update) => heard.push(update.type));
  await clock.advance(0);
  double.emitLive('run_1', { type: 'snapshot' }, { type: 'append' });
  stop();
  stop();
  double.emitLive('run_1', { type: 'remove' });
  assert.deepEqual(heard, ['snapshot', 'append']);
  const errors = [];
  const plain = install();
  plain.agent.subscribeLiveProjection('run_1', () => {}, { onError: (error) => errors.push(error.code) });
  await plain.clock.advance(0);
  assert.deepEqual(errors, ['agent.live_projection_unavailable']);
});
