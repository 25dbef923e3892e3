import { setOwnMember } from '../values/defined.ts'
import { isExactNumber } from '../values/number.ts'

/**
 * A block of HCL. The parser supports the subset of HCL that policies use: attributes (`key = value`), blocks with
 * at most one label (`path "a/*" { … }`), strings, here-documents, numbers, booleans, lists, objects, and three
 * styles of comments. The parser supports neither interpolation nor expressions. Tests compare its results with
 * another implementation.
 */
export interface HclBlock {
  type: string
  label?: string
  body: HclBody
}

export interface HclBody {
  attributes: Record<string, unknown>
  blocks: HclBlock[]
}

/** A syntax error. The message names the line and never quotes the text. */
export class HclSyntaxError extends Error {}

const DEEPEST = 16
const SPACE = /(?:[ \t\r\n]+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)+/y
const IDENTIFIER = /[A-Za-z_][\w.-]*/y
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const HEREDOC = /<<(-?)([A-Za-z_]\w*)\r?\n/y
const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\' }

interface Reader {
  readonly text: string
  at: number
}

/** Parses HCL. @throws HclSyntaxError */
export function parseHcl(text: string): HclBody {
  const reader = { text, at: 0 }
  const body = readBody(reader, 0)
  if (reader.at < text.length) fault(reader, 'unexpected character')
  return body
}

const fault = (reader: Reader, what: string): never => {
  const line = reader.text.slice(0, reader.at).split('\n').length
  throw new HclSyntaxError(`line ${line}: ${what}`)
}

function readBody(reader: Reader, depth: number): HclBody {
  if (depth > DEEPEST) fault(reader, 'nested too deeply')
  const body: HclBody = { attributes: Object.create(null), blocks: [] }
  for (skip(reader); reader.at < reader.text.length && !looksAt(reader, '}'); skip(reader)) {
    const name = looksAt(reader, '"') ? readString(reader) : word(reader)
    skip(reader)
    if (accept(reader, '=')) setOnce(reader, body.attributes, name, readValue(reader, depth + 1))
    else body.blocks.push(readBlock(reader, name, depth))
  }
  return body
}

function readBlock(reader: Reader, type: string, depth: number): HclBlock {
  const label = looksAt(reader, '"') ? readString(reader) : undefined
  skip(reader)
  if (!accept(reader, '{')) fault(reader, 'expected "=" or "{"')
  const body = readBody(reader, depth + 1)
  if (!accept(reader, '}')) fault(reader, 'a block is not closed')
  return label === undefined ? { type, body } : { type, label, body }
}

function readValue(reader: Reader, depth: number): unknown {
  skip(reader)
  if (depth > DEEPEST) fault(reader, 'nested too deeply')
  if (looksAt(reader, '"')) return readString(reader)
  if (accept(reader, '[')) return readList(reader, depth)
  if (accept(reader, '{')) return readObject(reader, depth)
  const heredoc = take(reader, HEREDOC)
  if (heredoc) return readHeredoc(reader, heredoc[2] ?? '', heredoc[1] === '-')
  const number = take(reader, NUMBER)
  if (number)
    return isExactNumber(number[0]) ? Number(number[0]) : fault(reader, 'a number cannot be kept exactly')
  const name = take(reader, IDENTIFIER)?.[0]
  if (name === 'true' || name === 'false') return name === 'true'
  return fault(reader, 'expected a value')
}

function readList(reader: Reader, depth: number): unknown[] {
  const items: unknown[] = []
  for (skip(reader); !accept(reader, ']'); skip(reader)) {
    items.push(readValue(reader, depth + 1))
    skip(reader)
    if (!accept(reader, ',') && !looksAt(reader, ']')) fault(reader, 'expected "," or "]"')
  }
  return items
}

function readObject(reader: Reader, depth: number): Record<string, unknown> {
  const object: Record<string, unknown> = Object.create(null)
  for (skip(reader); !accept(reader, '}'); skip(reader)) {
    const name = looksAt(reader, '"') ? readString(reader) : word(reader)
    skip(reader)
    if (!accept(reader, '=') && !accept(reader, ':')) fault(reader, 'expected "="')
    setOnce(reader, object, name, readValue(reader, depth + 1))
    const before = reader.at
    skip(reader)
    const newLine = reader.text.slice(before, reader.at).includes('\n')
    if (!accept(reader, ',') && !newLine && !looksAt(reader, '}')) fault(reader, 'expected "," or "}"')
  }
  return object
}

function readString(reader: Reader): string {
  let value = ''
  for (reader.at += 1; ; reader.at += 1) {
    const char = reader.text[reader.at]
    if (char === undefined || char === '\n') return fault(reader, 'a string is not closed')
    if (char === '"') break
    value += char === '\\' ? readEscape(reader) : char
  }
  reader.at += 1
  return value
}

function readEscape(reader: Reader): string {
  reader.at += 1
  const char = reader.text[reader.at] ?? ''
  const digits = /^(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(reader.text.slice(reader.at, reader.at + 9))
  const code = digits ? Number.parseInt(digits[1] ?? digits[2] ?? '', 16) : Number.NaN
  // a surrogate is not a character
  if (code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)) {
    reader.at += (digits?.[0].length ?? 1) - 1
    return String.fromCodePoint(code)
  }
  return ESCAPES[char] ?? fault(reader, 'unknown escape')
}

function readHeredoc(reader: Reader, marker: string, indented: boolean): string {
  const lines: string[] = []
  while (reader.at < reader.text.length) {
    const end = reader.text.indexOf('\n', reader.at)
    const line = reader.text.slice(reader.at, end < 0 ? undefined : end)
    reader.at = end < 0 ? reader.text.length : end
    if (line.trim() === marker)
      return unindent(lines, indented)
        .map(text => `${text}\n`)
        .join('')
    lines.push(line)
    reader.at += 1
  }
  return fault(reader, 'a here-document is not closed')
}

function unindent(lines: string[], indented: boolean): string[] {
  if (!indented) return lines
  const isBlank = (line: string): boolean => line.trim() === ''
  const margin = lines
    .filter(line => !isBlank(line))
    .reduce((least, line) => Math.min(least, line.length - line.trimStart().length), Number.POSITIVE_INFINITY)
  return lines.map(line => (isBlank(line) ? line : line.slice(margin)))
}

function setOnce(reader: Reader, target: Record<string, unknown>, name: string, value: unknown): void {
  if (Object.hasOwn(target, name)) fault(reader, 'an argument is given twice')
  setOwnMember(target, name, value)
}

const word = (reader: Reader): string => take(reader, IDENTIFIER)?.[0] ?? fault(reader, 'expected a name')

const skip = (reader: Reader): void => {
  take(reader, SPACE)
}

const looksAt = (reader: Reader, char: string): boolean => reader.text[reader.at] === char

function accept(reader: Reader, char: string): boolean {
  if (!looksAt(reader, char)) return false
  reader.at += 1
  return true
}

function take(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at
  const match = pattern.exec(reader.text)
  if (match) reader.at += match[0].length
  return match ?? undefined
}
