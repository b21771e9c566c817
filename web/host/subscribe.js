// Following a run. Where the transport can push, it does; otherwise the journal is polled. The contract is that of polling:
// events in order, each once; a handler that throws is told to `onError` and does not stop what follows; the subscription
// ends by itself behind the terminal event.

import { toAgentError, invalid } from './errors.js';
import { eventsOf } from './events.js';
import { requiredText } from './input.js';
import { throwLater } from './clock.js';
import { RESUMED_EVENT, isTerminalEvent } from './run-status.js';

const DEFAULT_LIMIT = 100;
const DEFAULT_INTERVAL_MS = 500;
const LEAST_INTERVAL_MS = 100;

/**
 * @param {{ readEvents: Function, clock: object, push?: Function }} parts
 *   `push(runId, handler, { afterSeq, limit, onError, onEnd, onUnavailable })` returns how to stop.
 */
export function createSubscribe({ readEvents, clock, push }) {
  return function subscribe(runId, handler, options) {
    const id = requiredText(runId, 'runId');
    if (typeof handler !== 'function') throw invalid('handler is required');
    const wanted = readOptions(options);
    const delivery = createDelivery(handler, wanted);
    if (push) return followPush({ id, wanted, delivery, push, readEvents, clock });
    return poll({ id, wanted, delivery, readEvents, clock });
  };
}

function readOptions(options) {
  const { afterSeq, limit, intervalMs, onError } = options ?? {};
  const interval = Number(intervalMs ?? DEFAULT_INTERVAL_MS);
  return {
    afterSeq: afterSeq ?? 0,
    limit: limit ?? DEFAULT_LIMIT,
    intervalMs: Number.isFinite(interval) && interval >= LEAST_INTERVAL_MS ? interval : DEFAULT_INTERVAL_MS,
    onError: typeof onError === 'function' ? onError : undefined,
  };
}

/** Who is told what, and how far it has come. */
function createDelivery(handler, { afterSeq, onError }) {
  const state = { cursor: afterSeq, over: false, stopped: false };

  function report(error) {
    if (!onError) return throwLater(error);
    try {
      onError(error);
    } catch (thrown) {
      throwLater(thrown);
    }
    return undefined;
  }

  /** @returns whether the handler took it */
  function deliver(event) {
    // First of all: whatever the handler does with it, this event has been told.
    if (typeof event?.seq === 'number') state.cursor = Math.max(state.cursor, event.seq);
    if (isTerminalEvent(event)) state.over = true;
    if (event?.type === RESUMED_EVENT) state.over = false;
    try {
      const answer = handler(event);
      if (typeof answer?.then === 'function') answer.then(undefined, (error) => state.stopped || report(error));
      return true;
    } catch (error) {
      report(error);
      return false;
    }
  }

  const isNew = (event) => typeof event?.seq !== 'number' || event.seq > state.cursor;
  return { state, report, deliver, isNew };
}

function poll({ id, wanted, delivery, readEvents, clock }) {
  const { state, report, deliver, isNew } = delivery;
  let callOff = clock.after(0, turn);

  async function turn() {
    if (state.stopped) return;
    let isDone = false;
    try {
      const page = await readEvents({ runId: id, afterSeq: state.cursor, limit: wanted.limit });
      if (state.stopped) return;
      isDone = hand(eventsOf(page)) && state.over;
    } catch (error) {
      if (!state.stopped) report(error);
    }
    if (state.stopped) return;
    if (isDone) state.stopped = true;
    else callOff = clock.after(wanted.intervalMs, turn);
  }

  /** @returns whether nothing of the page is left for the next poll */
  function hand(events) {
    for (const [index, event] of events.entries()) {
      if (state.stopped) return true;
      if (!isNew(event)) continue;
      if (!deliver(event)) return index === events.length - 1;
    }
    return true;
  }

  return function unsubscribe() {
    if (state.stopped) return;
    state.stopped = true;
    callOff();
  };
}

function followPush({ id, wanted, delivery, push, readEvents, clock }) {
  const { state, report, deliver, isNew } = delivery;
  let stopPush = () => {};
  let fallBack;

  function stop() {
    if (state.stopped) return;
    state.stopped = true;
    stopPush();
    fallBack?.();
  }

  function onEvent(event) {
    if (state.stopped || !isNew(event)) return;
    deliver(event);
    // A little later: what came in the same breath as the end is still told.
    if (state.over && !state.stopped) queueMicrotask(() => state.over && stop());
  }

  /** There is no connection to be had: the journal can still be polled. */
  function onUnavailable() {
    if (state.stopped || fallBack) return;
    stopPush();
    stopPush = () => {};
    fallBack = poll({ id, wanted, delivery, readEvents, clock });
  }

  function onError(error) {
    if (!state.stopped) report(toAgentError(error));
  }

  async function begin() {
    if (state.stopped) return;
    try {
      const options = { afterSeq: state.cursor, limit: wanted.limit, onError, onEnd: stop, onUnavailable };
      const stopping = await push(id, onEvent, options);
      if (typeof stopping !== 'function') return;
      if (state.stopped || fallBack) stopping();
      else stopPush = stopping;
    } catch (error) {
      onError(error);
      onUnavailable();
    }
  }
  const callOff = clock.after(0, begin);

  return function unsubscribe() {
    callOff();
    stop();
  };
}
