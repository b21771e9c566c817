// What a rollback withdraws is taken out of the chat: the message, the swipe, or what later commits made of it. Only what
// says itself that this run wrote it is touched.

import { holdsCommit, agentExtraOf, nextExtra, writeExtra } from '../message-extra.js';
import { withTextMetrics } from '../text-metrics.js';

/** @param {{ identity: object, tavern: Function, readWorkspaceFile: Function }} parts */
export function createWithdrawal({ identity, tavern, readWorkspaceFile }) {
  let queue = Promise.resolve();

  /**
   * A rollback is told by its receipt and by its event: the second finds nothing more to do.
   * @param {{ runId: string, chatRef?: object, stableChatId?: string }} run
   * @param {object[]} withdrawn of the event or the receipt
   */
  return function withdraw(run, withdrawn) {
    const done = queue.then(() => takeOut(run, withdrawn));
    queue = done.catch(() => {});
    return done;
  };

  async function takeOut(run, withdrawn) {
    const context = tavern();
    if (!Array.isArray(context?.chat) || !Array.isArray(withdrawn) || withdrawn.length === 0) return;
    if (!(await identity.isCurrent(run.chatRef, run.stableChatId))) return;
    let hasChanged = false;
    for (const commit of [...withdrawn].reverse()) {
      const index = context.chat.findIndex(
        (message) => agentExtraOf(message)?.runId === run.runId && holdsCommit(message, commit.commitId),
      );
      if (index === -1) continue;
      hasChanged = true;
      if (commit.strategy === 'replaceMessage') await replace(context, index, commit.replaceWith ?? []);
      else if (commit.strategy === 'deleteSwipe') deleteSwipe(context, index);
      else await deleteMessage(context, index);
    }
    if (hasChanged) await (context.saveChat ?? context.saveChatConditional)?.call(context);
  }

  /** The text is what the commits that stay have made of it, read from their checkpoints. */
  async function replace(context, index, ids) {
    const message = context.chat[index];
    const { runId, commits, ...extra } = agentExtraOf(message);
    const kept = ids.map((id) => commits.find((commit) => commit.commitId === id)).filter(Boolean);
    if (kept.length === 0) return;
    let text = '';
    for (const commit of kept) {
      const path = `checkpoints/${commit.checkpointId}/${commit.path}`;
      const file = withTextMetrics(await readWorkspaceFile({ runId, path }));
      text = commit.mode === 'append' ? text + file.text : file.text;
    }
    message.mes = text;
    if (Array.isArray(message.swipes)) message.swipes[message.swipe_id ?? 0] = text;
    const before = { ...extra, commits: kept.slice(0, -1) };
    writeExtra(message, nextExtra({ ...extra, runId, ...kept.at(-1) }, before, {}));
    context.updateMessageBlock?.(index, message);
  }
}

async function deleteMessage(context, index) {
  if (index === context.chat.length - 1 && typeof context.deleteLastMessage === 'function') {
    await context.deleteLastMessage();
  } else if (typeof context.deleteMessage === 'function') {
    await context.deleteMessage(index);
  } else {
    context.chat.splice(index, 1);
    await context.reloadCurrentChat?.();
  }
}

function deleteSwipe(context, index) {
  const message = context.chat[index];
  const { swipes, swipe_info: infos } = message;
  const at = agentExtraOf(message).rollback?.swipeId ?? message.swipe_id ?? 0;
  if (!Array.isArray(swipes) || swipes.length < 2) return;
  swipes.splice(at, 1);
  if (Array.isArray(infos)) infos.splice(at, 1);
  message.swipe_id = Math.min(at, swipes.length - 1);
  message.mes = swipes[message.swipe_id];
  message.extra = structuredClone(infos?.[message.swipe_id]?.extra ?? {});
  context.updateMessageBlock?.(index, message);
}
