// What a commit must say, and how the tavern is to save it. Pure.

import { invalid } from '../errors.js';
import { isObject, trimmed } from '../input.js';
import { agentExtraOf, findRunMessage } from '../message-extra.js';

const TEXTS = ['commitId', 'runId', 'workspaceId', 'stableChatId', 'path', 'mode', 'checkpointId'];
const COUNTS = ['bytes', 'chars', 'words'];
// These add to a message that is there, and the first commit of a run makes one.
const ADDING = ['append', 'continue', 'appendFinal'];

/** Whether the tavern on this page could save a message. */
export function canCommit(context) {
  return typeof context?.saveReply === 'function' && Array.isArray(context.chat);
}

const isCount = (value) => Number.isInteger(value) && value >= 0;

export function checkedCommit(payload) {
  const code = 'agent.host_payload_invalid';
  for (const name of TEXTS) {
    if (trimmed(payload[name]) === '') throw invalid(`chat_commit_requested has no ${name}`, code);
  }
  const bad = COUNTS.find((name) => payload[name] !== undefined && !isCount(payload[name]));
  if (bad) throw invalid(`${bad} of chat_commit_requested must be a non-negative integer`, code);
  // Version 1 of the payload counted bytes, version 2 characters and words.
  const isCounted = isCount(payload.bytes) || (isCount(payload.chars) && isCount(payload.words));
  if (!isCounted) throw invalid('chat_commit_requested has neither chars and words nor bytes', code);
  if (payload.mode !== 'replace' && payload.mode !== 'append') {
    throw invalid(`mode must be replace or append, not '${payload.mode}'`, 'agent.chat_commit_mode_invalid');
  }
  return payload;
}

/** The file of a commit, with its lengths. */
export function checkedFile(file, path) {
  const code = 'agent.host_workspace_file_invalid';
  if (typeof file?.text !== 'string') throw invalid(`'${path}' has no text`, code);
  const bad = COUNTS.find((name) => !isCount(file[name]));
  if (bad) throw invalid(`${bad} of '${path}' must be a non-negative integer`, code);
  return file;
}

/** The `type` of `saveReply`: a first commit makes a message, later ones change that one. */
export function saveType({ runId, mode, generationType }, isFirst, chat) {
  const type = trimmed(generationType) || 'normal';
  if (isFirst) return mode === 'append' || ADDING.includes(type) ? 'normal' : type;
  checkTarget(chat, runId);
  return mode === 'append' ? 'append' : 'appendFinal';
}

/** What the run has published must still be the last message. */
function checkTarget(chat, runId) {
  const last = chat.at(-1);
  if (last === undefined || findRunMessage(chat, runId) === -1) {
    throw invalid('the message that the run has published is gone', 'agent.chat_commit_message_missing');
  }
  if (!isObject(last) || typeof last.mes !== 'string') {
    throw invalid('the last message of the chat is none', 'agent.chat_commit_message_invalid');
  }
  if (agentExtraOf(last)?.runId !== runId) {
    throw invalid('the last message is not the one that the run has published', 'agent.chat_commit_message_mismatch');
  }
}
