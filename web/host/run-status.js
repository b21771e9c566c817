// The words for where a run is, and the events that end it.

export const RUN_STATUSES = Object.freeze([
  'created',
  'initializing_workspace',
  'assembling_context',
  'calling_model',
  'dispatching_tool',
  'awaiting_approval',
  'applying_workspace_patch',
  'creating_checkpoint',
  'awaiting_host_commit',
  'finishing',
  'completed',
  'partial_success',
  'cancelling',
  'cancelled',
  'failed',
]);

export const TERMINAL_STATUSES = Object.freeze(['completed', 'partial_success', 'cancelled', 'failed']);

export const UNFINISHED_STATUSES = Object.freeze(
  RUN_STATUSES.filter((status) => !TERMINAL_STATUSES.includes(status)),
);

export const TERMINAL_EVENTS = Object.freeze(['run_completed', 'run_partial_success', 'run_cancelled', 'run_failed']);

/** Takes an end back: the run gets another one later. */
export const RESUMED_EVENT = 'run_resumed';

export function isTerminalEvent(event) {
  return TERMINAL_EVENTS.includes(event?.type);
}
