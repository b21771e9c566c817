// Runs that are followed over the socket. Whatever breaks, each follower gets each event once and in order: numbers of
// events have no gaps, so a gap is what was missed, and it is read from the journal.

import { eventsOf } from '../events.js';

const PAGE = 500;
// What comes for a subscription before the answer that names it.
const MOST_EARLY = 1_000;
// What comes while the journal is read; beyond that, the journal has it too.
const MOST_WAITING = 10_000;
const RETRY_MS = 1_000;
// A connection that says nothing for so long may be dead without anybody having noticed: the journal knows.
const IDLE_MS = 30_000;

/** @param {{ socket: object, clock: object, readEvents: (dto: object) => Promise<object> }} parts */
export function createSubscriptions({ socket, clock, readEvents }) {
  const byName = new Map();
  const early = [];
  let unnamed = 0;

  for (const kind of ['event', 'live', 'lagged', 'end']) {
    socket.onNotification(`run.${kind}`, (params) => {
      const one = byName.get(params.subscription);
      if (one) one.take(kind, params);
      else if (unnamed > 0 && early.push([kind, params]) > MOST_EARLY) early.shift();
    });
  }

  function named(name, one) {
    byName.set(name, one);
    for (let at = 0; at < early.length; ) {
      if (early[at][1].subscription === name) one.take(...early.splice(at, 1)[0]);
      else at += 1;
    }
  }

  /** @param {{ params: () => object, take: Function, onIdle?: Function, options: object }} parts */
  function follow({ params, take, onIdle, options }) {
    let name;
    let release;
    let callOff;
    let isStopped = false;
    const watch = () => {
      callOff?.();
      callOff = onIdle && clock.after(IDLE_MS, () => (watch(), onIdle()));
    };
    const one = {
      take(kind, told) {
        if (isStopped) return;
        watch();
        take(kind, told);
      },
    };
    const forget = () => {
      callOff?.();
      callOff = undefined;
      if (name !== undefined) byName.delete(name);
      name = undefined;
    };
    const stop = () => {
      if (isStopped) return;
      isStopped = true;
      if (name !== undefined) leave(name);
      forget();
      release?.();
    };
    const user = {
      async opened() {
        unnamed += 1;
        try {
          const { subscription } = await socket.call('run.subscribe', params());
          socket.healthy();
          if (isStopped) return void leave(subscription);
          name = subscription;
          watch();
          named(subscription, one);
        } catch (error) {
          // A connection that broke is opened again; a run that cannot be followed is told of.
          if (isStopped || error.code === 'transport.closed') return;
          options.onError?.(error);
          stop();
          options.onEnd?.();
        } finally {
          unnamed -= 1;
          if (unnamed === 0) early.length = 0;
        }
      },
      closed: forget,
      hopeless() {
        stop();
        options.onUnavailable?.();
      },
    };
    release = socket.use(user);
    if (isStopped) release();
    return stop;
  }

  function leave(subscription) {
    socket.call('run.unsubscribe', { subscription }).catch(() => {});
  }

  function subscribeEvents(runId, handler, options = {}) {
    const order = inOrder({ runId, handler, options, readEvents, clock, onStale: socket.restart });
    const stop = follow({
      onIdle: order.check,
      params: () => ({ runId, afterSeq: order.cursor() }),
      take(kind, told) {
        if (kind === 'event') order.take(told.event);
        else if (kind === 'lagged') order.catchUp();
        else if (kind === 'end') order.end();
      },
      options,
    });
    order.onEnd(stop);
    return () => {
      order.stop();
      stop();
    };
  }

  /** Of the journal it wants nothing: only what is being written. */
  function subscribeLive(runId, handler, options = {}) {
    const stop = follow({
      params: () => ({ runId, afterSeq: Number.MAX_SAFE_INTEGER, live: true }),
      take(kind, told) {
        if (kind === 'live') return handler(told.update);
        if (kind !== 'end') return undefined;
        stop();
        return options.onEnd?.();
      },
      options,
    });
    return stop;
  }

  return { subscribeEvents, subscribeLive };
}

/** Events one by one; what is missing between them is read. */
function inOrder({ runId, handler, options, readEvents, clock, onStale }) {
  let cursor = options.afterSeq ?? 0;
  let isStopped = false;
  let isReading = false;
  let isLagged = false;
  let hasEnded = false;
  let isChecking = false;
  let onEnd = () => {};
  const waiting = new Map();

  function give(event) {
    cursor = event.seq;
    waiting.delete(event.seq);
    handler(event);
  }

  function drain() {
    while (!isStopped && waiting.has(cursor + 1)) give(waiting.get(cursor + 1));
    for (const seq of waiting.keys()) if (seq <= cursor) waiting.delete(seq);
  }

  async function read() {
    if (isReading || isStopped) return;
    isReading = true;
    try {
      while (!isStopped && (isLagged || waiting.size > 0)) {
        isLagged = false;
        const page = eventsOf(await readEvents({ runId, afterSeq: cursor, beforeSeq: undefined, limit: PAGE }));
        const fresh = page.filter((event) => event.seq > cursor);
        if (isChecking && fresh.length > 0 && waiting.size === 0) onStale();
        isChecking = false;
        for (const event of fresh) if (!isStopped) give(event);
        if (page.length >= PAGE && fresh.length > 0) isLagged = true;
        drain();
        // The journal does not have it: then there is no gap to be filled.
        if (fresh.length === 0 && waiting.size > 0) give(waiting.get(Math.min(...waiting.keys())));
        drain();
      }
    } catch (error) {
      isChecking = false;
      if (isStopped) return;
      options.onError?.(error);
      isLagged = true;
      clock.after(RETRY_MS, read);
    } finally {
      isReading = false;
    }
    if (hasEnded && !isLagged) finish();
  }

  function finish() {
    if (isStopped) return;
    isStopped = true;
    onEnd();
    options.onEnd?.();
  }

  return {
    cursor: () => cursor,
    take(event) {
      if (isStopped || typeof event?.seq !== 'number' || event.seq <= cursor) return;
      if (waiting.size >= MOST_WAITING) {
        waiting.clear();
        isLagged = true;
      } else {
        waiting.set(event.seq, event);
      }
      if (!isReading) drain();
      if (waiting.size > 0 || isLagged) void read();
    },
    catchUp() {
      isLagged = true;
      void read();
    },
    /** Whether the journal has what the connection should have told long ago. */
    check() {
      isChecking = true;
      isLagged = true;
      void read();
    },
    end() {
      hasEnded = true;
      if (!isReading && waiting.size === 0 && !isLagged) finish();
    },
    stop() {
      isStopped = true;
    },
    onEnd(run) {
      onEnd = run;
    },
  };
}
