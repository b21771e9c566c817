// The host's half of `workspace.commit`: what the run wants published becomes a message of the chat on this page, once.
// The run waits for the answer: which message it became, or why it became none.

import { AgentApiError, invalid, toAgentError } from '../errors.js';
import { agentExtraOf, findRunMessage, holdsCommit, nextExtra, writeExtra } from '../message-extra.js';
import { sha256Hex } from '../sha256.js';
import { withTextMetrics } from '../text-metrics.js';
import { canCommit, checkedCommit, checkedFile, saveType } from './commit-rules.js';
import { isCommitSaved } from './saved.js';

const RETRY_AFTER_MS = [500, 2_000, 10_000, 30_000, 60_000];

/**
 * @param {{ backend: object, identity: object, tavern: Function, readWorkspaceFile: Function, clock: object,
 *           timeoutMs: number, crypto?: object, fetch?: Function }} parts
 */
export function createCommitBridge({ backend, identity, tavern, readWorkspaceFile, clock, timeoutMs, crypto, fetch }) {
  const known = new Map();
  const published = new Set();
  const unsaved = new Set();
  let queue = Promise.resolve();

  /** @returns when the run has its answer */
  function onRequested(runId, payload) {
    const commitId = payload?.commitId;
    const entry = known.get(commitId);
    // After a restart the run may not know what it was told: what was saved it is told again, what failed is tried again.
    if (entry && !(payload.offeredAgain && entry.answer)) return entry.done;
    if (entry && 'messageId' in entry.answer) return resolve(entry.answer);
    const fresh = { answer: undefined, done: undefined };
    known.set(commitId, fresh);
    // One after the other: they write to the same chat.
    fresh.done = queue.then(() => commit(fresh, { runId, ...payload }));
    queue = fresh.done.catch(() => {});
    return fresh.done;
  }

  async function commit(entry, payload) {
    const ids = { runId: payload.runId, commitId: payload.commitId };
    const attempt = { isAbandoned: false, isSaving: false };
    const work = save(payload, attempt).then(
      (messageId) => ({ ...ids, messageId }),
      (error) => ({ ...ids, error: toAgentError(error).message }),
    );
    const timeout = timeLimit();
    entry.answer = (await Promise.race([work, timeout.promise])) ?? { ...ids, error: timedOut().message };
    timeout.callOff();
    if (!('messageId' in entry.answer)) attempt.isAbandoned = true;
    if (attempt.isSaving && 'error' in entry.answer) answerLate(entry, work);
    await resolve(entry.answer);
  }

  /** What was saved after all counts, and the run is told so although it no longer waits. */
  function answerLate(entry, work) {
    work
      .then((answer) => {
        if (!('messageId' in answer)) return undefined;
        entry.answer = answer;
        return resolve(answer);
      })
      .catch(() => {});
  }

  function timeLimit() {
    let callOff = () => {};
    const promise = new Promise((done) => {
      callOff = clock.after(timeoutMs, () => done(undefined));
    });
    return { promise, callOff };
  }

  const timedOut = () => new AgentApiError('commit.save_failed', `the chat was not saved within ${timeoutMs} ms`);

  async function save(given, attempt) {
    const payload = checkedCommit(given);
    await mustBeCurrent(payload);
    const place = tavern()?.chat?.findIndex((message) => holdsCommit(message, payload.commitId)) ?? -1;
    if (place !== -1) return again(place, payload);
    const file = await read(payload);
    await mustBeCurrent(payload);
    if (!canCommit(tavern())) {
      throw new AgentApiError('commit.save_failed', 'there is no tavern on this page that could save a message');
    }
    if (attempt.isAbandoned) throw timedOut();
    attempt.isSaving = true;
    try {
      return await write(payload, file);
    } catch (error) {
      if (error instanceof AgentApiError) throw error;
      throw new AgentApiError('commit.save_failed', toAgentError(error).message, { cause: error });
    }
  }

  async function mustBeCurrent({ chatRef, stableChatId }) {
    if (await identity.isCurrent(chatRef, stableChatId)) return;
    throw invalid('the chat of the run is not the one that is open', 'agent.commit_chat_mismatch');
  }

  async function again(index, { runId, commitId }) {
    published.add(runId);
    if (unsaved.has(commitId)) await saveChat(commitId);
    return String(index);
  }

  async function read({ runId, path, sha256 }) {
    const code = 'agent.host_workspace_file_invalid';
    const file = checkedFile(withTextMetrics(await readWorkspaceFile({ runId, path })), path);
    const found = await sha256Hex(file.text, crypto);
    const wanted = sha256 ?? file.sha256;
    if (typeof wanted === 'string' && wanted.toLowerCase() !== found) {
      throw invalid(`'${path}' is not the text that the run wants published: its sha256 is another`, code);
    }
    return { ...file, sha256: found };
  }

  async function write(payload, file) {
    const { runId, commitId } = payload;
    const context = tavern();
    const isFirst = !published.has(runId) && findRunMessage(context.chat, runId) === -1;
    const type = saveType(payload, isFirst, context.chat);
    const earlier = isFirst ? undefined : agentExtraOf(context.chat.at(-1));
    // What a tavern does to replies before it saves them, such as its regex scripts.
    const text = (await context.prepareReply?.(file.text, payload)) ?? file.text;
    await context.saveReply({ type, getMessage: text });
    const { chat } = tavern();
    const message = chat.at(-1);
    if (!message || message.is_user) {
      throw invalid('the tavern has not made a message of it', 'agent.chat_commit_message_missing');
    }
    const { bytes, chars, words, sha256 } = file;
    const place = { isSwipe: type === 'swipe', swipeId: message.swipe_id };
    writeExtra(message, nextExtra({ ...payload, bytes, chars, words, sha256 }, earlier, place));
    published.add(runId);
    unsaved.add(commitId);
    await saveChat(commitId);
    return String(chat.length - 1);
  }

  async function saveChat(commitId) {
    const context = tavern();
    await (context.saveChat ?? context.saveChatConditional)?.call(context);
    if ((await isCommitSaved(context, commitId, fetch)) === false) {
      throw new AgentApiError('commit.save_failed', 'the chat was saved without the message');
    }
    unsaved.delete(commitId);
  }

  /** Idempotent by `commitId`, so it can be tried again where only the way failed. */
  async function resolve(answer) {
    for (const wait of [...RETRY_AFTER_MS, undefined]) {
      try {
        return await backend.send('resolve_agent_chat_commit', answer);
      } catch (error) {
        if (error.code === 'agent.chat_commit_not_pending') return undefined;
        if (wait === undefined || !error.code.startsWith('transport.')) throw error;
        await clock.sleep(wait);
      }
    }
    return undefined;
  }

  return {
    onRequested,
    /** The journal says that the run has published something, here or elsewhere. */
    notePublished: (runId) => published.add(runId),
    noteWithdrawn: (runId, isAll) => isAll && published.delete(runId),
  };
}
