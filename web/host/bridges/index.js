// What the page does for runs: it publishes, notes memories, builds prompts, withdraws. Attached to a run when it starts, and
// again after a reload of the page: the journal says what is still unanswered.

import { isObject, present, trimmed } from '../input.js';
import { readAllEvents } from '../events.js';
import { UNFINISHED_STATUSES, isTerminalEvent } from '../run-status.js';
import { createPromptAssemblyBridge } from '../prompt-assembly.js';
import { createCommitBridge } from './commit.js';
import { canCommit } from './commit-rules.js';
import { createPersistentStateBridge } from './persistent-state.js';
import { createRunFeed } from './run-feed.js';
import { createWithdrawal } from './withdraw.js';
import { unanswered } from './unanswered.js';

const MOST_PAGES = 10;

export function createBridges(parts) {
  const { backend, runs, readEvents, subscribe, identity, tavern, promptAssembly, hasPush, locks, onError } = parts;
  const attached = new Map();
  const commits = createCommitBridge({ ...parts, readWorkspaceFile: runs.readWorkspaceFile });
  const noteState = createPersistentStateBridge(parts);
  const assemble = createPromptAssemblyBridge({ backend, promptAssembly });
  const withdraw = createWithdrawal({ ...parts, readWorkspaceFile: runs.readWorkspaceFile });

  /**
   * Who has nothing but `invoke` is the only host that the run has, and says so if it cannot publish. Where runs are pushed to
   * many pages, one that cannot leaves it to the others.
   */
  const isMine = () => !hasPush || canCommit(tavern());

  /** @returns a promise where there is something to do */
  function handle(run, event) {
    const { payload } = event;
    switch (event.type) {
      case 'chat_commit_requested':
        return isMine() ? commits.onRequested(run.runId, payload) : undefined;
      case 'chat_commit_completed':
        return void commits.notePublished(run.runId);
      case 'persistent_state_metadata_update_requested':
        return isMine() ? noteState(run.runId, payload) : undefined;
      case 'prompt_assembly_requested':
        return assemble(run.runId, payload);
      case 'run_rolled_back':
        return withdrawFrom(run, payload);
      default:
        return undefined;
    }
  }

  async function withdrawFrom(run, told) {
    const commitsGone = told?.withdrawnCommits ?? [];
    if (commitsGone.length === 0) return;
    await withdraw(run, commitsGone);
    commits.noteWithdrawn(run.runId, commitsGone.every((commit) => commit.strategy !== 'replaceMessage'));
  }

  /** Follows the run until its end. */
  function attach(told, { chatRef, stableChatId, afterSeq = 0 } = {}) {
    const runId = trimmed(told?.runId);
    if (runId === '' || attached.has(runId)) return;
    const run = { runId, chatRef: told.chatRef ?? chatRef, stableChatId: told.stableChatId ?? stableChatId };
    const feed = createRunFeed({ runId, afterSeq, subscribe, onError });
    const release = hold(runId);
    const leave = feed.subscribe(runId, (event) => {
      Promise.resolve(handle(run, event)).catch(onError);
      if (isTerminalEvent(event)) detach(runId);
    });
    attached.set(runId, () => {
      leave();
      release();
    });
  }

  function detach(runId) {
    attached.get(runId)?.();
    attached.delete(runId);
  }

  /** Other tabs with the same chat leave a run alone that this one looks after. */
  function hold(runId) {
    let release = () => {};
    const held = new Promise((resolve) => {
      release = resolve;
    });
    locks?.request(lockName(runId), () => held)?.catch?.(() => {});
    return release;
  }

  async function isHeldElsewhere(runId) {
    if (!locks) return false;
    return locks.request(lockName(runId), { ifAvailable: true }, (lock) => lock === null);
  }

  /** Takes up the unfinished runs of the chat that is open, and answers what they wait for. */
  async function offerAgain() {
    if (!canCommit(tavern())) return;
    const chatRef = await identity.currentRef();
    if (chatRef === undefined) return;
    for (const run of await unfinished(chatRef)) {
      if (attached.has(run.runId) || (await isHeldElsewhere(run.runId))) continue;
      try {
        await takeUp(run, chatRef);
      } catch (error) {
        onError(error);
      }
    }
  }

  async function unfinished(chatRef) {
    const found = [];
    let before;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const query = present({ chatRef, statuses: UNFINISHED_STATUSES, before });
      const answer = await runs.listRuns(query);
      found.push(...(Array.isArray(answer?.runs) ? answer.runs.filter(isObject) : []));
      before = answer?.nextCursor;
      if (!before) break;
    }
    return found;
  }

  async function takeUp(run, chatRef) {
    const events = await readAllEvents(readEvents, run.runId);
    if (attached.has(run.runId) || isTerminalEvent(events.at(-1))) return;
    if (events.some((event) => event.type === 'chat_commit_completed')) commits.notePublished(run.runId);
    attach({ chatRef, ...run }, { afterSeq: events.at(-1)?.seq ?? 0 });
    for (const event of unanswered(events)) await handle({ chatRef, ...run }, event);
  }

  return {
    attach,
    offerAgain,
    withdrawFrom,
    detach: (runId) => detach(trimmed(runId)),
    detachAll: () => [...attached.keys()].forEach(detach),
    attachedRuns: () => [...attached.keys()],
  };
}

const lockName = (runId) => `tauritavern.agent.run.${runId}`;
