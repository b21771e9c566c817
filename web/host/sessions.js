// Conversations with an agent that belong to no chat.

import { invalid } from './errors.js';
import { isObject, objectInput, optionalText, present, requiredText } from './input.js';

export function createSessions(backend) {
  const idOf = (input) => requiredText(isObject(input) ? input.sessionId : input, 'sessionId');

  return {
    profile: {
      async load() {
        return backend.ask('load_agent_session_profile');
      },
      async save(input) {
        const profile = isObject(input) && Object.hasOwn(input, 'profile') ? input.profile : input;
        if (!isObject(profile)) throw invalid('profile must be an object', 'agent.session_profile_missing');
        await backend.send('save_agent_session_profile', { profile });
      },
    },

    async create(input) {
      const profileId = optionalText(input?.profileId ?? input?.profile_id);
      if (profileId === undefined) return backend.ask('create_agent_session');
      return backend.send('create_agent_session', { profileId });
    },

    async list() {
      return backend.ask('list_agent_sessions');
    },

    async read(input) {
      const dto = { sessionId: idOf(input), beforeSeq: input?.beforeSeq ?? undefined, limit: input?.limit ?? undefined };
      return backend.send('read_agent_session', present(dto));
    },

    async send(input) {
      objectInput(input, 'sessions.send', 'sessionId is required');
      const dto = { sessionId: idOf(input), text: optionalText(input.text) };
      if (dto.text === undefined) throw invalid('message text is required', 'agent.session_message_required');
      return backend.send('send_agent_session_message', dto);
    },

    async delete(input) {
      await backend.send('delete_agent_session', { sessionId: idOf(input) });
    },
  };
}
