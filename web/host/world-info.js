// Which entries of world info were woken by a scan, in the form that runs are told of them.

const POSITIONS = ['before', 'after', 'an_top', 'an_bottom', 'depth', 'em_top', 'em_bottom', 'outlet'];

/** @param {object} scan what the tavern tells when a scan is done */
export function activationOf(scan, trigger, timestampMs) {
  return { timestampMs, trigger, entries: entriesOf(scan).map(entry) };
}

function entriesOf(scan) {
  const found = scan?.activated?.entries ?? scan?.entries ?? [];
  if (typeof found.values === 'function') return [...found.values()];
  return Object.values(found);
}

function entry(given) {
  const position = typeof given.position === 'number' ? POSITIONS[given.position] : given.position;
  const firstKey = Array.isArray(given.key) ? given.key[0] : undefined;
  return {
    world: String(given.world ?? ''),
    uid: given.uid,
    displayName: String(given.comment || firstKey || given.uid),
    constant: Boolean(given.constant),
    content: String(given.content ?? ''),
    ...(typeof position === 'string' ? { position } : {}),
  };
}
