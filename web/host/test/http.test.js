import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { test } from 'node:test';
import { AgentApiError, createHttpTransport, installAgentApi } from '../index.js';
import { createManualClock, settle } from './support.js';

function answering(status, body) {
  const requests = [];
  const fetch = async (url, options) => {
    requests.push([url, options]);
    if (body instanceof Error) throw body;
    return { ok: status < 400, status, text: async () => (typeof body === 'string' ? body : JSON.stringify(body)) };
  };
  return { requests, fetch };
}

test('a command is a POST with its dto', async () => {
  const { requests, fetch } = answering(200, { runs: [] });
  const { invoke } = createHttpTransport({ baseUrl: 'http://inn:8080/', token: 'secret', fetch });
  assert.deepEqual(await invoke('list_agent_runs', { dto: { limit: 1 } }), { runs: [] });
  const [[url, { method, headers, body }]] = requests;
  assert.equal(url, 'http://inn:8080/api/v1/host/list_agent_runs');
  assert.equal(method, 'POST');
  assert.equal(headers.authorization, 'Bearer secret');
  assert.equal(headers['content-type'], 'application/json');
  assert.deepEqual(JSON.parse(body), { dto: { limit: 1 } });
  await invoke('list_agent_profiles', undefined);
  assert.deepEqual(JSON.parse(requests[1][1].body), {});
});

test('an answer may be empty', async () => {
  assert.equal(await createHttpTransport({ ...answering(204, '') }).invoke('x'), undefined);
  assert.equal(await createHttpTransport({ ...answering(200, '') }).invoke('x'), undefined);
  assert.equal(await createHttpTransport({ ...answering(200, 'null') }).invoke('x'), null);
});

const REFUSALS = [
  [404, { type: 'https://x/errors#agent.not_found', title: 'Not found', status: 404, detail: 'no run', code: 'agent.not_found', details: { reason: 'agent.run_was_slimmed' } }, 'agent.not_found', /no run.*agent\.run_was_slimmed/],
  [400, { title: 'Bad', status: 400 }, 'agent.validation_error', /Bad/],
  [401, '', 'agent.unauthorized', /HTTP 401/],
  [429, 'slow down', 'agent.rate_limited', /slow down/],
  [503, '<html>', 'agent.transient', /html/],
  [500, '', 'agent.internal_error', /HTTP 500/],
  [200, '<html>', 'transport.invalid_response', /no JSON/],
  [0, new TypeError('fetch failed'), 'transport.unreachable', /fetch failed/],
];
for (const [status, body, code, message] of REFUSALS) {
  test(`a refusal has a code: ${status} ${code}`, async () => {
    const { invoke } = createHttpTransport(answering(status, body));
    await assert.rejects(invoke('x', { dto: {} }), (error) => {
      assert.ok(error instanceof AgentApiError);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  });
}

/** A server at the other end of sockets that tests open and break by hand. */
function createServer() {
  const sockets = [];
  class Socket {
    constructor(url, protocols) {
      Object.assign(this, { url, protocols, sent: [] });
      sockets.push(this);
    }
    send(text) {
      this.sent.push(JSON.parse(text));
    }
    close() {
      this.isClosed = true;
    }
    /** Lets it in, token or not. */
    async open() {
      this.onopen();
      await settle(1);
    }
    break() {
      this.onclose();
    }
    say(message) {
      this.onmessage({ data: JSON.stringify({ jsonrpc: '2.0', ...message }) });
    }
    note(method, params) {
      this.say({ method, params });
    }
    /** Answers the newest request of this kind. */
    answer(method, result) {
      this.say({ id: this.sent.findLast((one) => one.method === method).id, result });
    }
    requests(method) {
      return this.sent.filter((one) => one.method === method).map(({ params }) => params);
    }
  }
  return { Socket, sockets, last: () => sockets.at(-1) };
}

const event = (seq, type = 'x') => ({ seq, type, runId: 'run_1', payload: null });

function live(journal = []) {
  const clock = createManualClock();
  const server = createServer();
  const reads = [];
  const fetch = async (_url, { body }) => {
    const { dto } = JSON.parse(body);
    reads.push(dto.afterSeq);
    const events = journal.filter(({ seq }) => seq > dto.afterSeq).slice(0, dto.limit);
    return { ok: true, status: 200, text: async () => JSON.stringify({ events }) };
  };
  const transport = createHttpTransport({ baseUrl: 'https://inn', token: 't', fetch, WebSocket: server.Socket, timers: clock.timers, random: () => 1 });
  const heard = [];
  const told = [];
  const options = { onError: (error) => told.push(error.code), onEnd: () => told.push('end'), onUnavailable: () => told.push('unavailable') };
  const follow = (afterSeq = 0, runId = 'run_1') => transport.subscribeEvents(runId, ({ seq }) => heard.push(seq), { afterSeq, ...options });
  return { ...server, clock, transport, reads, journal, heard, told, follow };
}

test('a run is followed over the socket', async () => {
  const { follow, last, sockets, heard, told } = live();
  assert.equal(sockets.length, 0);
  const stop = follow(3);
  assert.equal(last().url, 'wss://inn/api/v1/ws');
  assert.deepEqual(last().protocols, ['innkeeper.v1', 'bearer.t']);
  await last().open();
  assert.deepEqual(last().sent, [
    { jsonrpc: '2.0', id: 1, method: 'run.subscribe', params: { runId: 'run_1', afterSeq: 3 } },
  ]);
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.event', { subscription: 's1', event: event(4) });
  last().note('run.event', { subscription: 's9', event: event(5) });
  last().note('run.event', { subscription: 's1', event: event(5) });
  last().note('run.event', { subscription: 's1', event: event(5) });
  assert.deepEqual(heard, [4, 5]);
  stop();
  stop();
  assert.deepEqual(last().requests('run.unsubscribe'), [{ subscription: 's1' }]);
  assert.equal(last().isClosed, true);
  last().note('run.event', { subscription: 's1', event: event(6) });
  assert.deepEqual([heard, told], [[4, 5], []]);
});

test('what comes before the answer that names it is not lost', async () => {
  const { follow, last, heard } = live();
  follow();
  await last().open();
  last().note('run.event', { subscription: 's1', event: event(1) });
  last().answer('run.subscribe', { subscription: 's1' });
  last().note('run.event', { subscription: 's1', event: event(2) });
  await settle();
  assert.deepEqual(heard, [1, 2]);
});

test('a gap is filled from the journal, in order and without repetition', async () => {
  const { follow, last, heard, reads } = live([1, 2, 3, 4, 5].map((seq) => event(seq)));
  follow();
  await last().open();
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.event', { subscription: 's1', event: event(1) });
  last().note('run.event', { subscription: 's1', event: event(4) });
  last().note('run.event', { subscription: 's1', event: event(5) });
  await settle();
  assert.deepEqual(heard, [1, 2, 3, 4, 5]);
  assert.deepEqual(reads, [1]);
});

test('who lags catches up, over many pages, and ends after that', async () => {
  const { follow, last, heard, told } = live(Array.from({ length: 1203 }, (_, index) => event(index + 1)));
  follow();
  await last().open();
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.lagged', { subscription: 's1', afterSeq: 0 });
  last().note('run.end', { subscription: 's1' });
  assert.deepEqual(told, []);
  await settle(20);
  assert.deepEqual(heard, Array.from({ length: 1203 }, (_, index) => index + 1));
  assert.deepEqual(told, ['end']);
});

test('a journal that cannot be read is tried again', async () => {
  const parts = live();
  const { follow, last, heard, told, clock, journal } = parts;
  journal.filter = () => {
    delete journal.filter;
    throw new TypeError('no network');
  };
  journal.push(event(1), event(2));
  follow();
  await last().open();
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.event', { subscription: 's1', event: event(2) });
  await settle();
  assert.deepEqual([heard, told], [[], ['transport.unreachable']]);
  await clock.advance(1000);
  assert.deepEqual(heard, [1, 2]);
});

test('after a break it goes on behind the last event, waiting longer each time', async () => {
  const { follow, last, sockets, heard, clock } = live();
  follow();
  await last().open();
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.event', { subscription: 's1', event: event(1) });
  last().break();
  const waits = [];
  for (let turn = 0; turn < 8; turn += 1) {
    waits.push(...clock.waits());
    await clock.advance(clock.waits()[0]);
    if (turn < 7) last().break();
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  assert.equal(sockets.length, 9);
  await last().open();
  assert.deepEqual(last().requests('run.subscribe'), [{ runId: 'run_1', afterSeq: 1 }]);
  last().answer('run.subscribe', { subscription: 's2' });
  await settle();
  last().note('run.event', { subscription: 's2', event: event(1) });
  last().note('run.event', { subscription: 's2', event: event(2) });
  assert.deepEqual(heard, [1, 2]);
  last().break();
  assert.deepEqual(clock.waits(), [500]);
});

test('a connection that is dead without saying so is found out by the journal', async () => {
  const { follow, last, sockets, heard, reads, clock, journal } = live();
  follow();
  await last().open();
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  await clock.advance(29_999);
  assert.deepEqual(reads, []);
  await clock.advance(1);
  assert.deepEqual(reads, [0]);
  assert.equal(last().isClosed, undefined);
  journal.push(event(1), event(2));
  await clock.advance(30_000);
  assert.deepEqual(heard, [1, 2]);
  assert.equal(sockets[0].isClosed, true);
  assert.deepEqual(clock.waits(), [500]);
  await clock.advance(500);
  await last().open();
  assert.deepEqual(last().requests('run.subscribe'), [{ runId: 'run_1', afterSeq: 2 }]);
});

test('many runs share one socket, and the last one closes it', async () => {
  const { follow, last, sockets } = live();
  const stops = [follow(0, 'run_1'), follow(0, 'run_2')];
  await last().open();
  assert.deepEqual(last().requests('run.subscribe').map(({ runId }) => runId), ['run_1', 'run_2']);
  stops[0]();
  assert.equal(last().isClosed, undefined);
  stops[1]();
  assert.equal(last().isClosed, true);
  follow();
  assert.equal(sockets.length, 2);
});

test('a run that cannot be followed is told of, and over', async () => {
  const { follow, last, told } = live();
  follow();
  await last().open();
  last().say({ id: 1, error: { code: -32000, message: 'no', data: { code: 'agent.not_found', detail: 'no run' } } });
  await settle();
  assert.deepEqual(told, ['agent.not_found', 'end']);
});

test('a connection that never comes about is given up', async () => {
  const { follow, last, told, clock } = live();
  follow();
  for (let turn = 0; turn < 3; turn += 1) {
    last().break();
    if (clock.waits().length > 0) await clock.advance(clock.waits()[0]);
  }
  assert.deepEqual(told, ['unavailable']);
  assert.deepEqual(clock.waits(), []);
});

test('a turn is followed while it is written', async () => {
  const { transport, last } = live();
  const heard = [];
  let isOver = false;
  transport.subscribeLive('run_1', (update) => heard.push(update.type), { onEnd: () => (isOver = true) });
  await last().open();
  assert.equal(last().requests('run.subscribe')[0].live, true);
  last().answer('run.subscribe', { subscription: 's1' });
  await settle();
  last().note('run.live', { subscription: 's1', update: { type: 'append' } });
  last().note('run.end', { subscription: 's1' });
  assert.deepEqual(heard, ['append']);
  assert.equal(isOver, true);
});

test('the server may ask the page', async () => {
  const { transport, follow, last } = live();
  transport.onRequest('chat.commit', async ({ a }) => ({ b: a + 1 }));
  transport.onRequest('chat.fail', () => {
    throw new AgentApiError('commit.save_failed', 'no');
  });
  follow();
  await last().open();
  last().say({ id: 'q1', method: 'chat.commit', params: { a: 1 } });
  last().say({ id: 'q2', method: 'chat.fail' });
  last().say({ id: 'q3', method: 'chat.unknown' });
  last().onmessage({ data: 'no json' });
  await settle();
  const answers = Object.fromEntries(last().sent.filter(({ method }) => !method).map(({ id, result, error }) => [id, result ?? error.data?.code ?? error.code]));
  assert.deepEqual(answers, { q1: { b: 2 }, q2: 'commit.save_failed', q3: -32601 });
});

test('a tool of an extension is called back over the socket', async () => {
  const bodies = [];
  const server = createServer();
  const fetch = async (_url, { body }) => {
    bodies.push(JSON.parse(body));
    return { ok: true, status: 200, text: async () => '{"registrationId":"reg_1"}' };
  };
  const { invoke } = createHttpTransport({ baseUrl: 'http://inn', fetch, WebSocket: server.Socket, timers: createManualClock().timers });
  const heard = [];
  const channel = { onmessage: (message) => heard.push(message) };
  const answer = invoke('register_agent_extension_tool', { dto: { name: 'x' }, channel });
  await server.last().open();
  server.last().answer('channel.open', {});
  assert.deepEqual(await answer, { registrationId: 'reg_1' });
  const [{ dto, channel: name }] = bodies;
  assert.deepEqual(dto, { name: 'x' });
  server.last().note('channel.message', { channel: name, message: { kind: 'call', requestId: 'q' } });
  assert.deepEqual(heard, [{ kind: 'call', requestId: 'q' }]);
  channel.onclose();
  assert.equal(server.last().isClosed, true);
});

test('without sockets there is no push, and nothing breaks', async () => {
  const real = globalThis.WebSocket;
  delete globalThis.WebSocket;
  try {
    const transport = createHttpTransport(answering(200, {}));
    assert.equal(transport.subscribeEvents, undefined);
    assert.equal(transport.invoke.subscribe, undefined);
    transport.close();
    await assert.rejects(transport.invoke('x', { dto: {}, channel: {} }), { code: 'extension.tool_unavailable' });
  } finally {
    if (real) globalThis.WebSocket = real;
  }
});

test('a real server is spoken to', async (t) => {
  const seen = [];
  const server = createHttpServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push([request.method, request.url, request.headers.authorization, body]);
    const isFine = request.url.endsWith('/list_agent_profiles');
    response.writeHead(isFine ? 200 : 404, { 'content-type': isFine ? 'application/json' : 'application/problem+json' });
    response.end(JSON.stringify(isFine ? { profiles: [] } : { status: 404, code: 'agent.not_found', detail: 'no run' }));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const transport = createHttpTransport({ baseUrl: `http://127.0.0.1:${server.address().port}`, token: 'x' });
  const agent = installAgentApi({ transport, window: {}, bridges: false });
  assert.deepEqual(await agent.profiles.list(), { profiles: [] });
  await assert.rejects(agent.cancel('run_1'), { code: 'agent.not_found', status: 404 });
  assert.deepEqual(seen, [
    ['POST', '/api/v1/host/list_agent_profiles', 'Bearer x', '{}'],
    ['POST', '/api/v1/host/cancel_agent_run', 'Bearer x', '{"dto":{"runId":"run_1"}}'],
  ]);
});
