// Timers, looked up when they are used, so that a page or a test may put its own in their place.

/**
 * @param {object} win the window
 * @param {{ setTimeout: Function, clearTimeout: Function }} [given]
 * @param {{ isBackground?: boolean }} [kind] in the background: nothing is kept running only because of it
 */
export function createClock(win, given, { isBackground = false } = {}) {
  const from = () => {
    if (typeof given?.setTimeout === 'function') return given;
    return typeof win?.setTimeout === 'function' ? win : globalThis;
  };
  return {
    /** @returns a function that calls it off */
    after(ms, run) {
      const timers = from();
      const id = timers.setTimeout(run, ms);
      if (isBackground) id?.unref?.();
      return () => timers.clearTimeout?.(id);
    },
    sleep(ms) {
      return new Promise((resolve) => {
        this.after(ms, resolve);
      });
    },
  };
}

/** For whoever has nobody to tell: the page's own error handling gets it. */
export function throwLater(error) {
  queueMicrotask(() => {
    throw error;
  });
}
