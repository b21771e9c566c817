// Markdown to HTML, the part of it that people use. Everything that is not Markdown is escaped, HTML included.

import { heading } from './heading.mjs'

const MAX_DEPTH = 16

const escape = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** Only where a click can do no harm; control characters would hide a scheme from this check. */
function safeUrl(url) {
  const bare = url.replace(/[\u0000-\u0020\u007f]/g, '')
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(bare)?.[1].toLowerCase()
  return scheme === undefined || ['http', 'https', 'mailto'].includes(scheme) ? escape(bare) : null
}

const INLINE = new RegExp(
  [
    '\\\\([!-/:-@[-`{-~])', // 1: escaped sign
    '(`+)(?!`)([\\s\\S]*?[^`])\\2(?!`)', // 2, 3: code
    '(!?)\\[([^\\[\\]]*)\\]\\(([^()\\s]*)(?:\\s+"([^"]*)")?\\)', // 4-7: link, picture
    '<((?:https?:\\/\\/|mailto:)[^<>\\s]+)>', // 8: bare link
    '(\\*\\*|__)(?=\\S)((?:(?!\\9)[\\s\\S])*?\\S)\\9', // 9, 10: strong
    '(\\*|(?<![\\p{L}\\p{N}])_)(?=\\S)((?:(?!\\*|_)[\\s\\S])*?\\S)(?:\\*|_(?![\\p{L}\\p{N}]))', // 11, 12: emphasis
    '~~(?=\\S)((?:(?!~~)[\\s\\S])*?\\S)~~', // 13: struck out
    '( {2,}|\\\\)\\n', // 14: hard break
  ].join('|'),
  'gu',
)

function inline(text, depth = 0) {
  if (depth > MAX_DEPTH) return escape(text)
  let out = ''
  let done = 0
  for (const m of text.matchAll(INLINE)) {
    out += escape(text.slice(done, m.index))
    done = m.index + m[0].length
    if (m[1] !== undefined) out += escape(m[1])
    else if (m[2] !== undefined) out += `<code>${escape(m[3].replace(/^ (.*) $/s, '$1'))}</code>`
    else if (m[5] !== undefined) out += link(m[4] === '!', m[5], m[6], m[7], depth)
    else if (m[8] !== undefined) out += `<a href="${escape(m[8])}">${escape(m[8])}</a>`
    else if (m[9] !== undefined) out += `<strong>${inline(m[10], depth + 1)}</strong>`
    else if (m[11] !== undefined) out += `<em>${inline(m[12], depth + 1)}</em>`
    else if (m[13] !== undefined) out += `<del>${inline(m[13], depth + 1)}</del>`
    else out += '<br>\n'
  }
  return out + escape(text.slice(done))
}

function link(picture, label, target, title, depth) {
  const url = safeUrl(target)
  const about = title === undefined ? '' : ` title="${escape(title)}"`
  if (picture) return url === null ? escape(label) : `<img src="${url}" alt="${escape(label)}"${about}>`
  return url === null ? inline(label, depth + 1) : `<a href="${url}"${about}>${inline(label, depth + 1)}</a>`
}

const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/
const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/
const QUOTE = /^ {0,3}> ?/
const cells = (line) => line.trim().replace(/^\||(?<!\\)\|$/g, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, '|'))
const isTableRule = (line) => line !== undefined && line.includes('-') && line.includes('|') && cells(line).every((cell) => /^:?-+:?$/.test(cell))

/** Blocks of lines; what stands inside a quote or an item is blocks again. */
function blocks(lines, state, depth) {
  if (depth > MAX_DEPTH) return `<p>${escape(lines.join('\n'))}</p>\n`
  let out = ''
  let at = 0
  while (at < lines.length) {
    const line = lines[at]
    let m
    if (line.trim() === '') at += 1
    else if ((m = FENCE.exec(line))) {
      const [, mark, language] = m
      const closes = (other) => new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`).test(other)
      const body = []
      for (at += 1; at < lines.length && !closes(lines[at]); at += 1) body.push(lines[at])
      at += 1
      const kind = language === '' ? '' : ` class="language-${escape(language)}"`
      out += `<pre><code${kind}>${escape(body.map((text) => `${text}\n`).join(''))}</code></pre>\n`
    } else if ((m = heading(line))) {
      state.title ??= m.title || undefined
      out += `<h${m.level}>${inline(m.title)}</h${m.level}>\n`
      at += 1
    } else if (RULE.test(line)) {
      out += '<hr>\n'
      at += 1
    } else if (QUOTE.test(line)) {
      const body = []
      for (; at < lines.length && QUOTE.test(lines[at]); at += 1) body.push(lines[at].replace(QUOTE, ''))
      out += `<blockquote>\n${blocks(body, state, depth + 1)}</blockquote>\n`
    } else if (ITEM.test(line)) {
      ;[out, at] = list(lines, at, out, state, depth)
    } else if (line.includes('|') && isTableRule(lines[at + 1])) {
      ;[out, at] = table(lines, at, out)
    } else {
      const body = [line.trimStart()]
      for (at += 1; at < lines.length && continues(lines[at]); at += 1) body.push(lines[at].trimStart())
      out += `<p>${inline(body.join('\n').trimEnd())}</p>\n`
    }
  }
  return out
}

const continues = (line) => line.trim() !== '' && !heading(line) && ![FENCE, RULE, QUOTE, ITEM].some((start) => start.test(line))

function list(lines, at, out, state, depth) {
  const ordered = /\d/.test(ITEM.exec(lines[at])[2])
  const start = ordered ? Number.parseInt(ITEM.exec(lines[at])[2], 10) : 1
  const begins = (line) => {
    const m = RULE.test(line) ? null : ITEM.exec(line)
    return m && /\d/.test(m[2]) === ordered ? m : null
  }
  const items = []
  let loose = false
  while (at < lines.length) {
    const m = begins(lines[at])
    if (!m) break
    const width = m[3] === '' ? m[0].length + 1 : m[0].length
    const body = [lines[at].slice(m[0].length)]
    for (at += 1; at < lines.length; at += 1) {
      const inner = lines[at].slice(0, width).trim() === ''
      if (lines[at].trim() === '') {
        // Only what follows says whether the list goes on behind an empty line.
        let next = at + 1
        while (next < lines.length && lines[next].trim() === '') next += 1
        const goesOn = next < lines.length && (lines[next].slice(0, width).trim() === '' || begins(lines[next]))
        if (!goesOn) {
          at = next
          break
        }
        at = next - 1
        loose = true
        body.push('')
      } else if (inner) body.push(lines[at].slice(width))
      else if (continues(lines[at]) && body.at(-1) !== '') body.push(lines[at])
      else break
    }
    items.push(body)
  }
  const tag = ordered ? 'ol' : 'ul'
  out += ordered && start !== 1 ? `<ol start="${start}">\n` : `<${tag}>\n`
  for (const body of items) {
    let html = blocks(body, state, depth + 1)
    if (!loose) html = html.replace(/^<p>([\s\S]*?)<\/p>\n/, '$1\n')
    out += `<li>${html.trimEnd()}</li>\n`
  }
  return [`${out}</${tag}>\n`, at]
}

function table(lines, at, out) {
  const sides = cells(lines[at + 1]).map((cell) => (cell.endsWith(':') ? (cell.startsWith(':') ? 'center' : 'right') : ''))
  const side = (n) => (sides[n] ? ` style="text-align:${sides[n]}"` : '')
  const row = (line, tag) => {
    const values = cells(line)
    return `<tr>${sides.map((_, n) => `<${tag}${side(n)}>${inline(values[n] ?? '')}</${tag}>`).join('')}</tr>\n`
  }
  out += `<table>\n<thead>\n${row(lines[at], 'th')}</thead>\n<tbody>\n`
  for (at += 2; at < lines.length && lines[at].includes('|'); at += 1) out += row(lines[at], 'td')
  return [`${out}</tbody>\n</table>\n`, at]
}

export function toHtml(markdown) {
  const state = { title: undefined }
  const lines = markdown.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n').replace(/\t/g, '    ').replace(/\0/g, '\ufffd').replace(/\n$/, '').split('\n')
  const html = blocks(lines, state, 0)
  return { html, title: state.title ?? '' }
}

export function toPage(html, title) {
  return `<!doctype html>\n<html>\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>${escape(title)}</title>\n</head>\n<body>\n${html}</body>\n</html>\n`
}
