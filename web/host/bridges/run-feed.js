// One subscription of a run, shared by everybody on the page who listens to it.

import { AgentApiError } from '../errors.js';

/** @param {{ runId: string, afterSeq?: number, subscribe: Function, onError: Function }} parts */
export function createRunFeed({ runId, afterSeq = 0, subscribe, onError }) {
  const listeners = new Set();
  let stop;

  function tell(event) {
    for (const listener of [...listeners]) {
      try {
        listener(event);
      } catch (error) {
        onError(error);
      }
    }
  }

  return {
    runId,
    subscribe(wanted, listener) {
      if (wanted !== runId) {
        throw new AgentApiError('agent.subscribe_run_mismatch', `this follows '${runId}', not '${wanted}'`);
      }
      const entry = (event) => listener(event);
      listeners.add(entry);
      stop ??= subscribe(runId, tell, { afterSeq, onError });
      return () => {
        if (!listeners.delete(entry) || listeners.size > 0) return;
        stop?.();
        stop = undefined;
      };
    },
  };
}
