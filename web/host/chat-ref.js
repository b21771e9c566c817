// Which chat is meant: `{kind: 'character', characterId, fileName}` or `{kind: 'group', chatId}`.

import { isObject } from './input.js';

/** Without the `.jsonl` that file names of chats have on disk. */
export function plainChatRef(ref) {
  if (typeof ref.fileName !== 'string' || !/\.jsonl$/i.test(ref.fileName)) return ref;
  return { ...ref, fileName: ref.fileName.replace(/\.jsonl$/i, '') };
}

export function isSameChat(left, right) {
  if (!isObject(left) || !isObject(right) || left.kind !== right.kind) return false;
  const [a, b] = [plainChatRef(left), plainChatRef(right)];
  if (a.kind === 'group') return a.chatId === b.chatId;
  return stem(a.characterId) === stem(b.characterId) && a.fileName === b.fileName;
}

/** Some name a character by the file of its picture. */
const stem = (characterId) => String(characterId).replace(/\.png$/i, '');
