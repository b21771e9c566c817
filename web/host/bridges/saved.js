// Whether a chat that was saved has the message. Taverns show a notice where saving fails, and do not throw: so it is read back.

import { isObject } from '../input.js';
import { holdsCommit } from '../message-extra.js';

/**
 * @param {Function | undefined} fetch that of the page
 * @returns true, false, or undefined where nobody can tell
 */
export async function isCommitSaved(context, commitId, fetch) {
  if (typeof context.isCommitSaved === 'function') return Boolean(await context.isCommitSaved(commitId));
  const question = questionFor(context);
  if (!question || typeof context.getRequestHeaders !== 'function' || typeof fetch !== 'function') return undefined;
  const [url, body] = question;
  try {
    const headers = { 'content-type': 'application/json', ...context.getRequestHeaders() };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), cache: 'no-cache' });
    const messages = response.ok ? await response.json() : undefined;
    return Array.isArray(messages) ? messages.some((message) => holdsCommit(message, commitId)) : undefined;
  } catch {
    return undefined;
  }
}

function questionFor(context) {
  const chatId = context.getCurrentChatId?.() ?? context.chatId;
  if (!chatId) return undefined;
  if (context.groupId) return ['/api/chats/group/get', { id: chatId }];
  const character = context.characters?.[context.characterId];
  if (!isObject(character)) return undefined;
  return ['/api/chats/get', { ch_name: character.name, file_name: chatId, avatar_url: character.avatar }];
}
