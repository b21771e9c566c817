// The one door to the backend: `invoke(command, { dto })`. Failures of every shape become an AgentApiError.

import { toAgentError } from './errors.js';

export function createBackend(invoke) {
  return {
    /** With a dto; `channel` only where the backend calls back. */
    async send(command, dto, channel) {
      const args = channel === undefined ? { dto } : { dto, channel };
      try {
        return await invoke(command, args);
      } catch (error) {
        throw toAgentError(error);
      }
    },

    /** A command without parameters is called with `undefined`. */
    async ask(command) {
      try {
        return await invoke(command, undefined);
      } catch (error) {
        throw toAgentError(error);
      }
    },
  };
}
