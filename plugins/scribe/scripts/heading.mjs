/** `## Title ##` → {level, title}; anything else → null. By hand: a pattern for this is slow on long runs of spaces. */
export function heading(line) {
  const mark = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(line)
  if (!mark) return null
  let title = line.slice(mark[0].length).trim()
  let end = title.length
  while (end > 0 && title[end - 1] === '#') end -= 1
  if (end === 0 || title[end - 1] === ' ' || title[end - 1] === '\t') title = title.slice(0, end).trimEnd()
  return { level: mark[1].length, title }
}
