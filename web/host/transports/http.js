// The backend over the network: commands by POST, what happens by WebSocket.

import { AgentApiError, fromProblem, isCode } from '../errors.js';
import { createClock } from '../clock.js';
import { isObject } from '../input.js';
import { createSocket } from './socket.js';
import { createChannels } from './channels.js';
import { createSubscriptions } from './subscriptions.js';

/**
 * @param {{ baseUrl?: string, token?: string, fetch?: Function, WebSocket?: Function, timers?: object,
 *           random?: () => number, protocols?: string[] }} [options]
 */
export function createHttpTransport({ baseUrl = '', token, fetch, WebSocket, timers, random, protocols } = {}) {
  const base = String(baseUrl).replace(/\/+$/, '');
  const send = fetch ?? ((...args) => globalThis.fetch(...args));
  const Socket = WebSocket ?? globalThis.WebSocket;
  const clock = createClock(globalThis, timers);

  async function post(command, body) {
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    if (token) headers.authorization = `Bearer ${token}`;
    const url = `${base}/api/v1/host/${encodeURIComponent(command)}`;
    let response;
    try {
      response = await send(url, { method: 'POST', headers, body: JSON.stringify(body), credentials: 'same-origin' });
    } catch (cause) {
      throw new AgentApiError('transport.unreachable', `the server did not answer: ${cause?.message ?? cause}`, { cause });
    }
    const text = response.status === 204 ? '' : await response.text();
    const value = parse(text);
    if (!response.ok) throw refusal(response.status, value, text);
    if (text !== '' && value === undefined) {
      throw new AgentApiError('transport.invalid_response', 'the server answered with something that is no JSON');
    }
    return value;
  }

  const socket =
    typeof Socket === 'function'
      ? createSocket({
          open: () => new Socket(socketUrl(base), protocols ?? protocolsFor(token)),
          clock,
          random: random ?? Math.random,
        })
      : undefined;
  const channels = socket && createChannels(socket);

  async function invoke(command, args) {
    if (args?.channel === undefined) return post(command, { dto: args?.dto });
    if (!channels) {
      throw new AgentApiError('extension.tool_unavailable', 'without a WebSocket nobody can be called back');
    }
    return channels.open(args.channel, (channel) => post(command, { dto: args.dto, channel }));
  }

  const transport = { invoke, close: () => socket?.close(), capabilities: Object.freeze({ groupPersistentStates: true }) };
  if (socket) {
    const readEvents = (dto) => invoke('read_agent_run_events', { dto });
    Object.assign(transport, createSubscriptions({ socket, clock, readEvents }), { onRequest: socket.onRequest });
  }
  invoke.capabilities = transport.capabilities;
  invoke.subscribe = transport.subscribeEvents;
  invoke.subscribeLive = transport.subscribeLive;
  return transport;
}

function parse(text) {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusal(status, value, text) {
  if (isObject(value) && (isCode(value.code) || value.detail || value.title)) return fromProblem(value, status);
  return fromProblem({ detail: typeof value === 'string' ? value : text.slice(0, 500) || `HTTP ${status}` }, status);
}

// Pages cannot send headers with a WebSocket, and a token does not belong into an address.
function protocolsFor(token) {
  return token ? ['innkeeper.v1', `bearer.${token}`] : ['innkeeper.v1'];
}

function socketUrl(base) {
  const url = new URL(`${base}/api/v1/ws`, globalThis.location?.href ?? 'http://localhost/');
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return url.href;
}
