import { lowerAscii, NAME_PATTERN } from '../values/names.ts'

/** A path parameter: its pattern, and which spellings are equivalent. */
interface Param {
  pattern: string
  /** the audit log contains its HMAC */
  secret?: true
  /** path patterns, up to the parameter, in which ASCII case is ignored */
  caseless?: readonly string[]
  /** path patterns, up to the parameter, in which a trailing slash is ignored */
  slashless?: readonly string[]
  /** names under which Vault's clients and client libraries repeat the parameter in the body */
  repeatedAs?: readonly string[]
}

const name: Param = { pattern: NAME_PATTERN.source.slice(1, -1) }
const anyText: Param = { pattern: '[^]*' }
const segment: Param = { pattern: '[^/]+' }

/** The parameters that are not plain names. */
const params: Record<string, Param> = {
  mount: { ...segment, repeatedAs: ['mount_point'] },
  role: { ...name, caseless: ['auth/:mount/role/:role'] },
  role_tag: { ...anyText, secret: true },
  policy_name: {
    ...segment,
    caseless: ['sys/policies/acl/:policy_name', 'sys/policy/:policy_name'],
    repeatedAs: ['name'],
  },
  method_path: {
    ...anyText,
    slashless: ['sys/auth/:method_path', 'sys/mounts/auth/:method_path', 'sys/audit-hash/:method_path'],
    repeatedAs: ['path', 'mount_point'],
  },
}

export const pathParameterRule = (parameter: string): Param => params[parameter] ?? name

/** Returns the canonical form of a parameter. */
export function normalisePathParameter(parameter: string, text: string): string {
  const { caseless, slashless } = pathParameterRule(parameter)
  if (slashless) return text.replace(/\/$/, '')
  return caseless ? lowerAscii(text) : text
}

/** A path in canonical form, and the differences that its spellings may have. */
export interface PathSpelling {
  /** the path in canonical form */
  path: string
  /** index of the segment whose ASCII case is ignored */
  caseless?: number
  /** true if a trailing slash is ignored */
  slashless: boolean
}

const placesOf = (kind: 'caseless' | 'slashless') =>
  Object.values(params)
    .flatMap(param => param[kind] ?? [])
    .map(place => ({
      begins: new RegExp(`^${place.replace(/:\w+/g, '[^/]+')}`),
      index: place.split('/').length - 1,
    }))

const caseless = placesOf('caseless')
const slashless = placesOf('slashless')

/**
 * Returns the canonical form of a path and its equivalent spellings. Requests and capability queries both use this function, so an
 * answer about a path is what is enforced on it.
 */
export function pathSpellingOf(path: string): PathSpelling {
  const index = caseless.find(({ begins }) => begins.test(path))?.index
  if (slashless.some(({ begins }) => begins.test(path)))
    return { path: path.replace(/\/$/, ''), slashless: true }
  if (index === undefined) return { path, slashless: false }
  return { path: lowerPathSegment(path, index), caseless: index, slashless: false }
}

/** Converts one segment of a path or path pattern to lower case. */
export const lowerPathSegment = (path: string, index: number): string =>
  path
    .split('/')
    .map((part, at) => (at === index ? lowerAscii(part) : part))
    .join('/')
