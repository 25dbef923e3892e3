import type { BaseIssue } from 'valibot'
import { nearestName } from '../shared/api/unknown-fields.ts'

/**
 * The error for settings that cannot be used. The message has a line for each fault, with the setting's name.
 */
export class SettingsError extends Error {
  constructor(faults: readonly string[]) {
    super(`the settings are not usable:\n${faults.map(fault => `  ${fault}`).join('\n')}`)
  }
}

/**
 * Parses the settings.
 * @throws SettingsError if the text is not valid JSON
 */
export function parseSettings(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new SettingsError(['settings: not valid JSON'])
  }
}

/** A valibot schema's members, or the schema that it wraps. */
interface Node {
  entries?: Readonly<Record<string, object>>
  wrapped?: object
}

/** The requirement of each kind of valibot check, as text. `expected` is valibot's text. */
const WORDS: Readonly<Record<string, (expected: string) => string>> = {
  integer: () => 'must be a whole number',
  min_value: expected => `must be at least ${expected.replace('>=', '')}`,
  max_value: expected => `must be at most ${expected.replace('<=', '')}`,
  non_empty: () => 'must not be empty',
  picklist: expected => `must be one of ${expected.replace(/[()]/g, '').replaceAll(' | ', ', ')}`,
  array: () => 'must be a list',
  object: () => 'must be an object',
  strict_object: () => 'must be an object',
  record: () => 'must be an object',
  boolean: () => 'must be true or false',
  string: () => 'must be a text',
  number: () => 'must be a number',
}

/** Returns the fault of a setting as a text. Checks that have a text of their own keep that text. */
export function describeSchemaFault(issue: BaseIssue<unknown>, schema: object): string {
  const { type, message, expected, received, path = [] } = issue
  if (!message.startsWith('Invalid ')) return message
  if (type === 'strict_object' && expected === 'never')
    return unknownSetting(
      path.map(({ key }) => String(key)),
      schema,
    )
  if (received === 'undefined') return 'is missing'
  const words = WORDS[type]
  return words ? `${words(expected ?? '')}, not ${received}` : message
}

function unknownSetting(path: readonly string[], schema: object): string {
  const near = nearestName(path.at(-1) ?? '', namesAt(schema, path.slice(0, -1)))
  return near === undefined ? 'there is no such setting' : `there is no such setting: did you mean ${near}?`
}

/** Returns the names of the settings below a path. */
function namesAt(schema: object, path: readonly string[]): string[] {
  let node: Node = schema
  for (const key of path) node = unwrapped(node.entries?.[key] ?? {})
  return Object.keys(node.entries ?? {})
}

const unwrapped = (node: Node): Node => (node.wrapped ? unwrapped(node.wrapped) : node)
