import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { sha256Hex } from '../sha256.js';
import { countBytes, countChars, countWords } from '../text-metrics.js';

for (const text of ['', 'abc', '稳定'.repeat(40), ...[55, 56, 63, 64, 65, 1000].map((length) => 'x'.repeat(length))]) {
  test(`a digest is the same with and without WebCrypto: ${text.length} characters`, async () => {
    const expected = createHash('sha256').update(text).digest('hex');
    assert.equal(await sha256Hex(text), expected);
    assert.equal(await sha256Hex(text, {}), expected);
  });
}

for (const [text, bytes, chars, words] of [['', 0, 0, 0], ['two words', 9, 9, 2], ['你好 tea2', 11, 7, 3], ['👍!', 5, 2, 0], ['カフェ', 9, 3, 3]]) {
  test(`lengths of ${JSON.stringify(text)}`, () => {
    assert.deepEqual([countBytes(text), countChars(text), countWords(text)], [bytes, chars, words]);
  });
}
