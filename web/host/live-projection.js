// A turn while the model writes it. Nothing of it is kept, so it cannot be polled: it needs a transport that pushes.

import { AgentApiError, invalid, toAgentError } from './errors.js';
import { requiredText } from './input.js';
import { throwLater } from './clock.js';

/**
 * @param {{ clock: object, pushLive?: Function }} parts `pushLive(runId, handler, { onError, onEnd, onUnavailable })`
 *   returns how to stop.
 */
export function createSubscribeLiveProjection({ clock, pushLive }) {
  return function subscribeLiveProjection(runId, handler, options) {
    const id = requiredText(runId, 'runId');
    if (typeof handler !== 'function') throw invalid('handler is required');
    const onError = typeof options?.onError === 'function' ? options.onError : throwLater;
    let isStopped = false;
    let stopPush = () => {};

    const report = (error) => isStopped || onError(toAgentError(error));
    const stop = () => {
      if (isStopped) return;
      isStopped = true;
      callOff();
      stopPush();
    };
    const onUpdate = (update) => {
      if (isStopped) return;
      try {
        handler(update);
      } catch (error) {
        onError(error);
      }
    };
    const onUnavailable = () => report(unavailable());

    const callOff = clock.after(0, async () => {
      if (isStopped) return;
      if (!pushLive) return void onUnavailable();
      try {
        const stopping = await pushLive(id, onUpdate, { onError: report, onEnd: stop, onUnavailable });
        if (typeof stopping !== 'function') return;
        if (isStopped) stopping();
        else stopPush = stopping;
      } catch (error) {
        report(error);
      }
    });
    return stop;
  };
}

function unavailable() {
  const text = 'this transport does not push; what a turn came to is in readModelTurn';
  return new AgentApiError('agent.live_projection_unavailable', text);
}
