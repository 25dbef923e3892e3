import { isExactNumber } from './number.ts'
import { failed, ok, type Result } from './result.ts'

/** Limits of a JSON text, against exhaustion by depth or size. @see docs/spec/transport.md#bodies */
export interface JsonLimits {
  depth: number
  /** members of one object, or elements of one array */
  members: number
  /** values in total */
  values: number
  /** rejects repeated keys; by default the last value of a key wins */
  uniqueKeys?: boolean
}

export type JsonFault = 'malformed' | 'too complex' | 'repeated key' | 'inexact number'

/**
 * Parses JSON after a scan that limits depth and number of values, and finds repeated keys and numbers that would lose digits. Error
 * messages never quote the text.
 */
export function readJson(text: string, limits: JsonLimits): Result<unknown, JsonFault> {
  const fault = scan(text, limits)
  if (fault) return failed(fault)
  try {
    return ok(JSON.parse(text))
  } catch {
    return failed('malformed')
  }
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Reports whether a value is a JSON object. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses trusted JSON. @returns undefined for invalid JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses a JSON object. @returns undefined for any other text */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

interface Level {
  members: number
  /** unescaped keys seen so far; absent in an array */
  keys?: Set<string>
}

/** Matches an escaped surrogate. Only an escape can encode half of a surrogate pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/

// One pass over the structural characters. JSON.parse checks the grammar, so it rejects malformed text that this scan accepts.
function scan(text: string, limits: JsonLimits): JsonFault | undefined {
  const levels: Level[] = []
  let values = 1
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    const level = levels.at(-1)
    if (char === '"') {
      const end = endOfString(text, at)
      if (end < 0) return 'malformed'
      const quoted = text.slice(at, end + 1)
      // keys, items and responses cannot contain half of a surrogate pair
      if (SURROGATE.test(quoted) && !unescaped(quoted)?.isWellFormed()) return 'malformed'
      if (level?.keys && limits.uniqueKeys && isKey(text, end)) {
        const key = unescaped(quoted)
        if (key === undefined) return 'malformed'
        if (level.keys.has(key)) return 'repeated key'
        level.keys.add(key)
      }
      at = end
    } else if (char === '-' || (char !== undefined && char >= '0' && char <= '9')) {
      NUMBER.lastIndex = at
      const literal = NUMBER.exec(text)?.[0]
      if (literal === undefined) return 'malformed'
      if (!isExactNumber(literal)) return 'inexact number'
      at += literal.length - 1
    } else if (char === '{' || char === '[') {
      levels.push(char === '{' ? { members: 1, keys: new Set() } : { members: 1 })
      if (levels.length > limits.depth) return 'too complex'
    } else if (char === '}' || char === ']') {
      levels.pop()
    } else if (char === ',' && level) {
      values += 1
      level.members += 1
      if (level.members > limits.members || values > limits.values) return 'too complex'
    }
  }
  return undefined
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at += 1
    else if (text[at] === '"') return at
  }
  return -1
}

const isKey = (text: string, end: number): boolean => {
  let at = end + 1
  while (' \t\n\r'.includes(text[at] ?? 'x')) at += 1
  return text[at] === ':'
}

const unescaped = (quoted: string): string | undefined => parseJson(quoted) as string | undefined
