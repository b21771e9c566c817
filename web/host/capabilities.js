// What this host can do, so that a page asks instead of trying.

/** @param {{ hasPush: boolean, hasLive: boolean, canPruneGroups: boolean }} transport */
export function capabilitiesOf({ hasPush, hasLive, canPruneGroups }) {
  return Object.freeze({
    approve: true,
    editArguments: true,
    copyPersistentStates: true,
    diff: true,
    extensionTools: true,
    fork: true,
    guidance: true,
    groupPersistentStates: canPruneGroups,
    listRuns: true,
    liveProjection: hasLive,
    mcp: false,
    modelTurns: true,
    profiles: true,
    promptAssembly: true,
    push: hasPush,
    resume: true,
    retention: true,
    rollback: true,
    sessions: true,
    stream: true,
    tools: true,
  });
}
