// Headings and lengths of a Markdown text.

import { heading } from './heading.mjs'

const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu
const WORD = /[\p{L}\p{N}]+(?:['’.\-][\p{L}\p{N}]+)*/gu

/** Characters of scripts without spaces count one by one. */
function count(text) {
  const wide = text.match(WIDE)?.length ?? 0
  const words = text.replace(WIDE, ' ').match(WORD)?.length ?? 0
  return { words: words + wide, weight: words + wide / 2 }
}

/** The lines, each with whether it is code or front matter: such lines count, but make no headings. */
function* lines(text) {
  let fence = null
  let number = 0
  let front = /^\ufeff?---[ \t]*\r?\n/.test(text)
  for (const line of text.replace(/^\ufeff/, '').split(/\r?\n/)) {
    number += 1
    if (front) {
      yield { line, number, code: true }
      front = number === 1 || !/^(?:---|\.\.\.)[ \t]*$/.test(line)
      continue
    }
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (fence === null && mark) fence = mark
    else if (fence !== null && mark && mark[0] === fence[0] && mark.length >= fence.length) {
      fence = null
      yield { line, number, code: true }
      continue
    }
    yield { line, number, code: fence !== null }
  }
}

export function outline(text, wordsPerMinute) {
  const headings = []
  const total = { words: 0, weight: 0 }
  let previous = null
  for (const { line, number, code } of lines(text)) {
    const atx = code ? null : heading(line)
    const setext = code || !previous?.trim() || /^\s*([#>|]|[-*+]\s|\d+[.)]\s)/.test(previous) ? null : /^ {0,3}(=+|-{2,})[ \t]*$/.exec(line)
    if (atx) headings.push({ ...atx, line: number, words: 0 })
    else if (setext) {
      // The line before was counted as prose of the section above; it is this section's title.
      const taken = count(previous).words
      if (headings.length > 0) headings.at(-1).words -= taken
      headings.push({ level: setext[1][0] === '=' ? 1 : 2, title: previous.trim(), line: number - 1, words: 0 })
    }
    const here = count(line)
    total.words += here.words
    total.weight += here.weight
    if (!atx && headings.length > 0) headings.at(-1).words += here.words
    previous = atx || setext || code ? null : line
  }
  return {
    headings,
    words: total.words,
    characters: [...text].length,
    lines: text === '' ? 0 : text.replace(/\r?\n$/, '').split('\n').length,
    minutes: Math.ceil((total.weight / wordsPerMinute) * 10) / 10,
  }
}
