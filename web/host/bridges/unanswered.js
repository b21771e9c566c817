// What a run has asked of its host and not been answered, read from its journal. Pure.

const QUESTIONS = {
  chat_commit_requested: { id: 'commitId', answers: ['chat_commit_completed', 'chat_commit_failed'] },
  persistent_state_metadata_update_requested: {
    id: 'updateId',
    answers: ['persistent_state_metadata_updated', 'persistent_state_metadata_update_failed'],
  },
  prompt_assembly_requested: { id: 'assemblyId', answers: ['prompt_assembly_completed', 'prompt_assembly_failed'] },
};

/** The newest telling of each question without an answer, in their order. */
export function unanswered(events) {
  const open = new Map();
  for (const event of events) {
    for (const [type, { id, answers }] of Object.entries(QUESTIONS)) {
      const key = `${type} ${event.payload?.[id]}`;
      if (event.type === type) {
        open.delete(key);
        open.set(key, event);
      } else if (answers.includes(event.type)) {
        open.delete(key);
      }
    }
  }
  return [...open.values()];
}
