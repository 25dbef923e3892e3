import { isObject } from '../values/json.ts'
import { formatCheckValue } from './explained.ts'

/** Input of a field: a check box, one value per line, JSON, or a text. */
type FieldKind = 'flag' | 'list' | 'json' | 'text'

export interface FormField {
  name: string
  kind: FieldKind
  /** description of the API */
  doc: string
}

/** An endpoint that a form writes to, as the page's build compiles it from the endpoint table. */
export interface CompiledForm {
  /** below `/v1/`, with `:name` for parameters */
  path: string
  /** capability that creates an object; changes need `update` */
  creates: 'create' | 'update'
  isSudo: boolean
  /** one field per line: name, kind, description */
  fields: string
}

export type FormName = 'role' | 'mount' | 'tuning' | 'policy'
export type CompiledForms = Readonly<Record<FormName, CompiledForm>>

/** Parses the lines of a compiled form. */
export const parseFormFields = (text: string): FormField[] =>
  text.split('\n').map(line => {
    const [, name = '', kind = '', doc = ''] = /^(\S+) (\S+) (.*)$/.exec(line) ?? []
    return { name, kind: kind as FieldKind, doc }
  })

/** Fills the parameters of a path in order. */
export function fillPath(
  path: string,
  values: readonly string[],
  encode: (value: string) => string = encodeURIComponent,
): string {
  let index = 0
  return path.replace(/:\w+/g, () => encode(values[index++] ?? ''))
}

/** Reports whether a text shows a value that an administrator did not set. */
export const isUnsetText = (text: string): boolean => ['', '[]', '{}', '0', 'false'].includes(text)

/**
 * Formats a value for an input. A list has one value per line. A list whose lines would be read as other values is
 * shown as JSON.
 */
export function formatFieldValue(kind: FieldKind, value: unknown): string {
  if (kind === 'list' && Array.isArray(value)) {
    const lines = value.map(String)
    const isPlain = lines.every(line => /^[^\s[](.*\S)?$/.test(line))
    return isPlain ? lines.join('\n') : JSON.stringify(value)
  }
  if (kind === 'flag') return value === undefined ? '' : String(value === true)
  if (kind === 'json')
    return isObject(value) && Object.keys(value).length > 0 ? JSON.stringify(value, null, 1) : ''
  return formatCheckValue(value)
}

/** Parses the text of an input. @throws Error if the text is not JSON where JSON is needed */
export function parseFieldText({ name, kind }: FormField, text: string): unknown {
  if (kind === 'flag') return text === 'true'
  if (kind === 'text') return text
  const isLines = kind === 'list' && !/^\s*\[/.test(text)
  if (isLines) return text.split('\n').filter(line => line.trim() !== '')
  try {
    return JSON.parse(text.trim() || '{}')
  } catch {
    throw new Error(`${name} must be JSON.`)
  }
}

/** Names the fields that differ between two answers, as two observers would see them. */
export function listDifferences(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after))
    return JSON.stringify(before) === JSON.stringify(after)
      ? []
      : [after === undefined ? 'it is gone' : 'it is new']
  return Object.keys({ ...before, ...after }).filter(
    name => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
}

/** Returns the number of the line that an error names. */
export const readErrorLine = (message: string): number | undefined => {
  const [, line] = /\bline (\d+)\b/.exec(message) ?? []
  return line === undefined ? undefined : Number(line)
}

/** Returns where a line begins and ends in a text. @param line counted from 1 */
export function findLine(text: string, line: number): { start: number; end: number } {
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
  return { start, end: start + (lines[line - 1] ?? '').length }
}
