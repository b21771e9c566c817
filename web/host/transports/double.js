// A backend for tests: answers what it is told to, and remembers what it was asked.

import { toAgentError } from '../errors.js';
import { isObject } from '../input.js';

/**
 * @param {Record<string, unknown>} [handlers] by command: a function `(dto, args) => answer`, an Error to reject with, or the
 *   answer itself
 * @param {{ push?: boolean }} [options] `push`: events and live updates are told by `emit` and `emitLive`
 */
export function createDoubleTransport(handlers = {}, { push = false } = {}) {
  const calls = [];
  const followers = new Set();
  const table = { ...handlers };

  async function invoke(command, args) {
    calls.push({ command, args, dto: args?.dto });
    if (!Object.hasOwn(table, command)) throw `Not found: agent.not_found: nobody answers '${command}' here`;
    const answer = table[command];
    if (answer instanceof Error) throw answer;
    return typeof answer === 'function' ? answer(args?.dto, args) : isObject(answer) ? structuredClone(answer) : answer;
  }

  const follow = (kind) => (runId, handler, options = {}) => {
    const follower = { kind, runId, handler, options };
    followers.add(follower);
    return () => followers.delete(follower);
  };
  const tell = (kind, runId, use) => {
    for (const one of [...followers]) if (one.kind === kind && one.runId === runId) use(one);
  };

  return {
    invoke,
    calls,
    /** What was sent with this command, in order. */
    sent: (command) => calls.filter((call) => call.command === command).map((call) => call.dto),
    on(command, answer) {
      table[command] = answer;
    },
    /** Who follows: `{ kind, runId, options }`. */
    followers: () => [...followers],
    emit: (runId, ...events) => tell('event', runId, (one) => events.forEach((event) => one.handler(event))),
    emitLive: (runId, ...updates) => tell('live', runId, (one) => updates.forEach((update) => one.handler(update))),
    fail: (runId, error) => tell('event', runId, (one) => one.options.onError?.(toAgentError(error))),
    end: (runId) => tell('event', runId, (one) => one.options.onEnd?.()),
    ...(push ? { subscribeEvents: follow('event'), subscribeLive: follow('live') } : {}),
  };
}
