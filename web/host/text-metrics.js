// How long a text is, in each of the ways that callers of different ages ask for.

const ENCODER = new TextEncoder();
const CJK = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}`;
// Runs of letters and digits; each Chinese, Japanese or Korean character by itself.
const WORD = new RegExp(`[${CJK}]|(?:(?![${CJK}])[\\p{L}\\p{N}])+`, 'gu');

export function countBytes(text) {
  return ENCODER.encode(text).length;
}

export function countChars(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

export function countWords(text) {
  return text.match(WORD)?.length ?? 0;
}

/** A file with `bytes`, `chars` and `words`, whichever of them the backend gave. */
export function withTextMetrics(file) {
  if (file === null || typeof file !== 'object' || typeof file.text !== 'string') return file;
  return {
    ...file,
    bytes: file.bytes ?? countBytes(file.text),
    chars: file.chars ?? countChars(file.text),
    words: file.words ?? countWords(file.text),
  };
}
