// The tools of Scribe: arguments as a JSON object on stdin, the envelope {success, …} on stdout.

import { fill } from './fill.mjs'
import { toHtml, toPage } from './markdown.mjs'
import { outline } from './outline.mjs'
import { Bad } from './problem.mjs'

async function readAll(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function source(args, name) {
  const given = args[name]
  if ((given === undefined) === (args.file === undefined)) throw new Bad(`give either '${name}' or 'file'`)
  if (given !== undefined) return given
  if (typeof args.file.text !== 'string') throw new Bad(`${args.file.uri} is no text`)
  return args.file.text
}

function saved(uri, text, about) {
  return { outputData: { file: uri, characters: [...text].length, ...about }, files: [{ uri, text }] }
}

const tools = {
  outline: (args) => ({ outputData: outline(source(args, 'text'), Number(process.env.WORDS_PER_MINUTE) || 220) }),
  html: (args) => {
    const { html, title } = toHtml(source(args, 'text'))
    if (args.save_as === undefined) return { outputData: { html, title: args.title ?? title } }
    return saved(args.save_as, toPage(html, args.title ?? title), { title: args.title ?? title })
  },
  fill: (args) => {
    const text = fill(source(args, 'template'), args.values ?? {}, args.missing ?? 'error')
    return args.save_as === undefined ? { outputData: text } : saved(args.save_as, text, {})
  },
}

let answer
try {
  const args = JSON.parse(await readAll(process.stdin))
  if (args === null || typeof args !== 'object' || Array.isArray(args)) throw new Bad('expected a JSON object on stdin')
  const tool = Object.hasOwn(tools, process.argv[2]) ? tools[process.argv[2]] : undefined
  if (!tool) throw new Bad(`there is no tool '${process.argv[2]}'`)
  answer = { success: true, ...tool(args) }
} catch (error) {
  const type = error instanceof Bad ? 'ParameterValidationError' : 'ScriptError'
  answer = { success: false, error: { type, message: String(error.message) } }
}
process.exitCode = answer.success ? 0 : 1
process.stdout.write(JSON.stringify(answer))
