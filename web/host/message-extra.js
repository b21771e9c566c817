// What a message says of the run that wrote it: `message.extra.tauritavern.agent`. Written as version 2, read as 1 and 2.

import { isObject } from './input.js';

/** What the message says, in the form of version 2; nothing where it says nothing. */
export function agentExtraOf(message) {
  const extra = message?.extra?.tauritavern?.agent;
  if (!isObject(extra)) return undefined;
  return { ...extra, commits: Array.isArray(extra.commits) ? extra.commits : [] };
}

/** Whether the message came of this commit. */
export function holdsCommit(message, commitId) {
  const extra = agentExtraOf(message);
  return extra !== undefined && (extra.commitId === commitId || extra.commits.some((one) => one.commitId === commitId));
}

/** @returns the index of the newest message that the run wrote, or -1 */
export function findRunMessage(chat, runId) {
  return chat.findLastIndex((message) => agentExtraOf(message)?.runId === runId);
}

/**
 * @param {object} commit the payload of `chat_commit_requested`, with the lengths of the text
 * @param {object | undefined} earlier what the message says already
 * @param {{ isSwipe: boolean, swipeId?: number }} place
 */
export function nextExtra(commit, earlier, place) {
  const metrics = { bytes: commit.bytes, chars: commit.chars, words: commit.words, sha256: commit.sha256 };
  const commits = earlier?.commits ?? [];
  const seq = commits.reduce((most, one) => Math.max(most, one.seq ?? 0), 0) + 1;
  const entry = {
    seq,
    commitId: commit.commitId,
    checkpointId: commit.checkpointId,
    path: commit.path,
    mode: commit.mode,
    ...(commit.reason ? { reason: commit.reason } : {}),
    ...metrics,
  };
  return {
    version: 2,
    runId: commit.runId,
    workspaceId: commit.workspaceId,
    stableChatId: commit.stableChatId,
    profileId: commit.profileId ?? null,
    persistBaseStateId: commit.persistBaseStateId ?? null,
    persistStateStatus: 'not_committed',
    checkpointId: commit.checkpointId,
    commitId: commit.commitId,
    commitSeq: seq,
    commits: [...commits, entry],
    rollback: earlier?.rollback ?? rollbackOf(place),
    artifacts: [{ path: commit.path, target: 'message_body', ...metrics }],
  };
}

function rollbackOf({ isSwipe, swipeId }) {
  return isSwipe ? { strategy: 'deleteSwipe', swipeId } : { strategy: 'deleteMessage' };
}

/** What becomes of it when the run's memory is kept. */
export function withPersistState(extra, update) {
  return {
    ...extra,
    persistBaseStateId: update.baseStateId ?? extra.persistBaseStateId ?? null,
    persistStateStatus: 'committed',
    persistStateId: update.stateId,
    persistChangeCount: update.changeCount ?? 0,
  };
}

/** Puts it into the message, and into the swipe that is shown. */
export function writeExtra(message, agentExtra) {
  message.extra = put(message.extra, agentExtra);
  const swipe = Array.isArray(message.swipe_info) ? message.swipe_info[message.swipe_id ?? 0] : undefined;
  if (isObject(swipe)) swipe.extra = put(swipe.extra, agentExtra);
}

function put(extra, agentExtra) {
  const kept = isObject(extra) ? extra : {};
  const tauritavern = isObject(kept.tauritavern) ? kept.tauritavern : {};
  return { ...kept, tauritavern: { ...tauritavern, agent: structuredClone(agentExtra) } };
}
