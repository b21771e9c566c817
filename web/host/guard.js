// Nothing but AgentApiErrors leaves a method that answers with a promise, and none of them throws before it does.

import { toAgentError } from './errors.js';

export function guarded(methods) {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, guard(method)]));
}

function guard(method) {
  return async (...args) => {
    try {
      return await method(...args);
    } catch (error) {
      throw toAgentError(error);
    }
  };
}
