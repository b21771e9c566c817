// Reading the journal of a run, page by page.

import { invalid } from './errors.js';
import { isObject, objectInput, requiredText, trimmed } from './input.js';

export function createReadEvents(backend) {
  return async function readEvents(input) {
    objectInput(input, 'readEvents', 'runId is required');
    // These keys always travel; the backend has the defaults.
    const dto = {
      runId: requiredText(input.runId, 'runId'),
      afterSeq: input.afterSeq,
      beforeSeq: input.beforeSeq,
      limit: input.limit,
    };
    if (input.invocationId !== undefined && input.invocationId !== null) {
      const invocationId = trimmed(input.invocationId);
      if (invocationId === '') {
        throw invalid('invocationId cannot be empty', 'agent.read_events_invocation_id_invalid');
      }
      dto.invocationId = invocationId;
    }
    if (input.includeTimelineProjection !== undefined && input.includeTimelineProjection !== null) {
      dto.includeTimelineProjection = Boolean(input.includeTimelineProjection);
    }
    return backend.send('read_agent_run_events', dto);
  };
}

/** The events of a page, whatever else came with it. */
export function eventsOf(page) {
  return isObject(page) && Array.isArray(page.events) ? page.events : [];
}

/** All events from `afterSeq` on, oldest first. */
export async function readAllEvents(readEvents, runId, afterSeq = 0, limit = 500) {
  const all = [];
  for (let cursor = afterSeq; ; ) {
    const page = eventsOf(await readEvents({ runId, afterSeq: cursor, limit }));
    const fresh = page.filter((event) => event.seq > cursor);
    all.push(...fresh);
    if (page.length < limit || fresh.length === 0) return all;
    cursor = fresh.at(-1).seq;
  }
}
