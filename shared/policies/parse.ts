import { type Capability, capabilities, type ParameterRules, type PolicyRule } from '../model/policy.ts'
import { parseDuration } from '../values/duration.ts'
import { isObject, type JsonLimits, readJson } from '../values/json.ts'
import { type HclBody, HclSyntaxError, parseHcl } from './hcl.ts'

/** An invalid policy. The message says what is wrong and where. */
export class PolicySyntaxError extends Error {}

const fault = (message: string): never => {
  throw new PolicySyntaxError(message)
}

/** Old one-word form: `policy = "write"`. */
const shorthands: ReadonlyMap<unknown, readonly Capability[]> = new Map(
  Object.entries({
    deny: ['deny'],
    read: ['read', 'list'],
    write: ['create', 'read', 'update', 'delete', 'list', 'patch'],
    sudo: ['create', 'read', 'update', 'delete', 'list', 'patch', 'sudo'],
  } satisfies Record<string, Capability[]>),
)

/**
 * Parses a policy in HCL or JSON. Rejects everything that might change access but is not supported: unknown arguments, templates, and
 * wildcards in the wrong place.
 *
 * @throws PolicySyntaxError
 * @see docs/spec/policies.md#language
 */
export function parsePolicy(text: string): PolicyRule[] {
  return pathsOf(text.trimStart().startsWith('{') ? fromJson(text) : fromHcl(text)).map(([path, body]) =>
    toRule(path, body),
  )
}

type PathBody = [path: string, body: Record<string, unknown>]

function fromHcl(text: string): HclBody {
  try {
    return parseHcl(text)
  } catch (error) {
    throw error instanceof HclSyntaxError ? new PolicySyntaxError(error.message) : error
  }
}

const LIMITS: JsonLimits = { depth: 16, members: 100_000, values: 100_000, uniqueKeys: true }

const jsonFaults = {
  malformed: 'the policy is not valid JSON',
  'too complex': 'the policy is nested too deeply or holds too many values',
  'repeated key': 'the policy names a key twice in one object',
  'inexact number': 'the policy holds a number that cannot be stored exactly',
} as const

function fromJson(text: string): HclBody {
  const read = readJson(text, LIMITS)
  if (!read.ok) return fault(jsonFaults[read.fault])
  return { attributes: isObject(read.value) ? read.value : fault('a policy must be an object'), blocks: [] }
}

function pathsOf({ attributes, blocks }: HclBody): PathBody[] {
  const unknown = [...Object.keys(attributes), ...blocks.map(block => block.type)].find(
    name => name !== 'path' && name !== 'name',
  )
  if (unknown) fault(`"${unknown}" is not supported at the top of a policy; expected "path"`)
  const fromBlocks = blocks.map(({ type, label, body }): PathBody => {
    if (type !== 'path' || label === undefined) return fault('expected path "…" { … }')
    return [label, argumentsOf(label, body)]
  })
  return [...fromBlocks, ...pathsOfValue(attributes['path'])]
}

/** Returns the arguments of a path, written as `name = { … }` or `name { … }`. */
function argumentsOf(path: string, { attributes, blocks }: HclBody): Record<string, unknown> {
  const all: Record<string, unknown> = Object.assign(Object.create(null), attributes)
  for (const { type, label, body } of blocks) {
    if (label !== undefined || body.blocks.length > 0) fault(`path "${path}": unexpected block in "${type}"`)
    if (Object.hasOwn(all, type)) fault(`path "${path}": "${type}" is given twice`)
    all[type] = body.attributes
  }
  return all
}

function pathsOfValue(value: unknown): PathBody[] {
  if (value === undefined) return []
  if (Array.isArray(value)) return value.flatMap(pathsOfValue)
  if (!isObject(value)) return fault('"path" must hold an object of rules')
  return Object.entries(value).flatMap(([path, body]): PathBody[] =>
    (Array.isArray(body) ? body : [body]).map(one =>
      isObject(one) ? [path, one] : fault('a path’s rules must be an object'),
    ),
  )
}

const ARGUMENTS = [
  'capabilities',
  'policy',
  'allowed_parameters',
  'denied_parameters',
  'required_parameters',
  'min_wrapping_ttl',
  'max_wrapping_ttl',
]

function toRule(written: string, body: Record<string, unknown>): PolicyRule {
  const path = written.replace(/^\//, '')
  const unknown = Object.keys(body).find(name => !ARGUMENTS.includes(name))
  if (unknown) fault(`path "${path}": "${unknown}" is not supported`)
  checkPath(path)
  const maxWrapping = wrappingTtl(body['max_wrapping_ttl'])
  const minWrapping = wrappingTtl(body['min_wrapping_ttl'])
  if (maxWrapping > 0 && minWrapping > maxWrapping)
    fault(`path "${path}": min_wrapping_ttl is above max_wrapping_ttl`)
  return {
    path,
    capabilities: readCapabilities(path, body),
    allowed: parameters(body['allowed_parameters']),
    denied: parameters(body['denied_parameters']),
    required: texts(body['required_parameters']).map(name => name.toLowerCase()),
    minWrapping,
    maxWrapping,
  }
}

function checkPath(path: string): void {
  if (path.includes('{{')) fault(`path "${path}": templates are not supported`)
  if (path.includes('+*')) fault(`path "${path}": "+*" is not allowed`)
  const star = path.indexOf('*')
  if (star >= 0 && star !== path.length - 1) fault(`path "${path}": "*" is allowed only at the end`)
  if (path.split('/').some(part => part.includes('+') && part !== '+')) {
    fault(`path "${path}": "+" must stand for a whole segment`)
  }
}

function readCapabilities(path: string, body: Record<string, unknown>): ReadonlySet<Capability> {
  const shorthand = body['policy']
  const words = texts(body['capabilities']).map(word => word.toLowerCase())
  const unknown = words.find(word => !isCapability(word))
  if (unknown !== undefined) fault(`path "${path}": unknown capability`)
  const old =
    shorthand === undefined
      ? []
      : (shorthands.get(shorthand) ?? fault(`path "${path}": "policy" has an unknown value`))
  const all = new Set<Capability>([...(words as Capability[]), ...old])
  return all.has('deny') ? new Set(['deny']) : all
}

const isCapability = (word: string): word is Capability => (capabilities as readonly string[]).includes(word)

function texts(value: unknown): string[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || value.some(item => typeof item !== 'string'))
    return fault('expected a list of strings')
  return value
}

function parameters(value: unknown): ParameterRules {
  const rules: Record<string, readonly unknown[]> = Object.create(null)
  if (value === undefined) return rules
  if (!isObject(value)) return fault('parameters must be an object with lists of values')
  for (const [name, values] of Object.entries(value)) {
    const key = name.toLowerCase()
    if (Object.hasOwn(rules, key)) fault(`parameter "${name}" is given twice`)
    rules[key] = Array.isArray(values) ? values : fault(`parameter "${name}" needs a list of values`)
  }
  return rules
}

function wrappingTtl(value: unknown): number {
  if (value === undefined) return 0
  const seconds =
    typeof value === 'number' || typeof value === 'string' ? parseDuration(String(value)) : undefined
  return seconds ?? fault('a wrapping TTL is not a duration')
}
