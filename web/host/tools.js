// The tools that agents may be given, and those that an extension of the page brings.

import { toAgentError, invalid } from './errors.js';
import { isObject, objectInput, optionalText, present, requiredText } from './input.js';

const CONTEXTS = ['chat', 'session'];

export function createTools(backend) {
  return {
    async list() {
      return backend.ask('list_agent_tool_specs');
    },

    /**
     * The backend calls back over a channel: `{kind: 'call', requestId, arguments, context}` and `{kind: 'cancel', requestId}`.
     * @returns what the backend answered, with `unregister()`
     */
    async register(definition, execute) {
      const dto = checked(definition);
      if (typeof execute !== 'function') throw invalid('execute is required', 'extension.tool_invalid');
      const calls = createCalls(backend, execute);
      const channel = { onmessage: calls.take };
      const answer = await backend.send('register_agent_extension_tool', dto, channel);
      const registration = isObject(answer) ? answer : { registrationId: answer };
      return {
        ...registration,
        unregister() {
          calls.close();
          channel.onclose?.();
        },
      };
    },

    async setEnabled(toolId, enabled) {
      const dto = { toolId: requiredText(toolId, 'toolId'), enabled };
      if (typeof enabled !== 'boolean') throw invalid('enabled must be a boolean');
      return backend.send('set_agent_extension_tool_enabled', dto);
    },
  };
}

function checked(definition) {
  const code = 'extension.tool_invalid';
  objectInput(definition, 'tools.register definition');
  const { contexts = ['chat'], inputSchema } = definition;
  if (!Array.isArray(contexts) || contexts.length === 0 || contexts.some((name) => !CONTEXTS.includes(name))) {
    throw invalid(`contexts must be some of: ${CONTEXTS.join(', ')}`, code);
  }
  if (!isObject(inputSchema)) throw invalid('inputSchema must be an object', code);
  return present({
    ...definition,
    extensionId: requiredText(definition.extensionId, 'extensionId', code),
    name: requiredText(definition.name, 'name', code),
    description: requiredText(definition.description, 'description', code),
    title: optionalText(definition.title),
    contexts: [...new Set(contexts)],
    enabled: definition.enabled ?? true,
  });
}

/** Each call is answered once, whatever the function does; a call that is taken back aborts its signal. */
function createCalls(backend, execute) {
  const open = new Map();
  let isClosed = false;

  async function run({ requestId, arguments: args, context = {} }) {
    const abort = new AbortController();
    open.set(requestId, abort);
    let result;
    try {
      if (isClosed) throw invalid('the extension has taken its tool back', 'extension.tool_unavailable');
      const value = await execute(args ?? {}, { ...context, signal: abort.signal });
      result = { kind: 'value', value: value === undefined ? null : value };
    } catch (error) {
      result = { kind: 'error', message: error instanceof Error ? error.message : String(error) };
    }
    open.delete(requestId);
    if (!abort.signal.aborted) await backend.send('resolve_agent_extension_tool_call', { requestId, result });
  }

  return {
    take(message) {
      if (!isObject(message)) return;
      if (message.kind === 'cancel') {
        open.get(message.requestId)?.abort(toAgentError('agent.cancelled: the call was taken back'));
      } else if (message.requestId !== undefined && !open.has(message.requestId)) {
        // An answer that nobody takes is the backend's to notice.
        run(message).catch(() => {});
      }
    },
    close() {
      isClosed = true;
    },
  };
}
