// Templates with {{values}}, {{#sections}} and {{^inverted sections}}.

import { Bad } from './problem.mjs'

const MAX_DEPTH = 32
const MAX_OUTPUT = 4 * 1024 * 1024
const TAG = /\{\{([^{}]*)\}\}/g

/** A tree of texts, values and sections. */
function parse(template) {
  const root = { items: [] }
  const open = [root]
  let done = 0
  for (const match of template.matchAll(TAG)) {
    const [tag, inner] = [match[0], match[1].trim()]
    const kind = '#^/'.includes(inner[0] ?? ' ') ? inner[0] : ''
    const name = inner.slice(kind.length).trim()
    const line = () => template.slice(0, match.index).split('\n').length
    const items = open.at(-1).items
    items.push(template.slice(done, match.index))
    done = match.index + tag.length
    if (name === '') throw new Bad(`line ${line()}: ${tag} names nothing`)
    if (kind === '') items.push({ name, tag })
    else if (kind === '/') {
      if (open.length === 1 || open.at(-1).name !== name) throw new Bad(`line ${line()}: ${tag} closes what is not open`)
      open.pop()
    } else {
      if (open.length > MAX_DEPTH) throw new Bad(`line ${line()}: more than ${MAX_DEPTH} sections within each other`)
      const section = { name, tag, inverted: kind === '^', items: [], section: true }
      items.push(section)
      open.push(section)
    }
    if (kind !== '') done = alone(template, match.index, done, items)
  }
  if (open.length > 1) throw new Bad(`${open.at(-1).tag} is never closed`)
  root.items.push(template.slice(done))
  return root.items
}

const isBlank = (sign) => sign === ' ' || sign === '\t'

/** A section's tag alone on its line leaves no empty line behind. Gives back where the text goes on. */
function alone(template, start, end, items) {
  let from = start
  while (from > 0 && isBlank(template[from - 1])) from -= 1
  let to = end
  while (to < template.length && isBlank(template[to])) to += 1
  if (template[to] === '\r' && template[to + 1] === '\n') to += 1
  if ((from > 0 && template[from - 1] !== '\n') || template[to] !== '\n') return end
  const before = items.findLastIndex((item) => typeof item === 'string')
  if (from < start) items[before] = items[before].slice(0, from - start)
  return to + 1
}

/** From the innermost section outwards; only own properties, so that {{constructor}} is missing. */
function find(name, scopes) {
  if (name === '.') return scopes.at(-1)
  const [first, ...rest] = name.split('.')
  const has = (scope, key) => scope !== null && typeof scope === 'object' && Object.hasOwn(scope, key)
  let value = scopes.findLast((scope) => has(scope, first))?.[first]
  for (const key of rest) value = has(value, key) ? value[key] : undefined
  return value
}

export function fill(template, values, missing) {
  let out = ''
  const write = (text) => {
    out += text
    if (out.length > MAX_OUTPUT) throw new Bad(`the filled template has more than ${MAX_OUTPUT} characters`)
  }
  const lost = new Set()
  const render = (items, scopes) => {
    for (const item of items) {
      if (typeof item === 'string') {
        write(item)
        continue
      }
      const value = find(item.name, scopes)
      if (item.section) {
        const empty = value === undefined || value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)
        if (item.inverted) {
          if (empty) render(item.items, scopes)
        } else if (Array.isArray(value)) for (const entry of value) render(item.items, [...scopes, entry])
        else if (!empty) render(item.items, [...scopes, value])
      } else if (value === undefined || value === null) {
        lost.add(item.name)
        write(missing === 'keep' ? item.tag : '')
      } else write(typeof value === 'object' ? JSON.stringify(value) : String(value))
    }
  }
  render(parse(template), [values])
  if (missing === 'error' && lost.size > 0) {
    throw new Bad(`no value for ${[...lost].join(', ')}; give it in 'values', or set 'missing' to empty or keep`)
  }
  return out
}
