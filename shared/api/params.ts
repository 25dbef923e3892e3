import { lowerAscii, NAME } from '../values/names.ts'

/** A parameter of a path: what it may look like, and which of its spellings mean the same. */
interface Param {
  pattern: string
  /** the audit log keeps its HMAC */
  secret?: true
  /** paths, up to the parameter, in which its ASCII case does not matter */
  caseless?: readonly string[]
  /** paths, up to the parameter, in which a slash at its end does not matter */
  slashless?: readonly string[]
  /** names by which clients repeat it in a body: those of the incumbent, and those of client libraries */
  repeatedAs?: readonly string[]
}

const name: Param = { pattern: NAME.source.slice(1, -1) }
const anyText: Param = { pattern: '[^]*' }
const segment: Param = { pattern: '[^/]+' }

/** Parameters whose texts are not plain names. */
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

export const paramOf = (parameter: string): Param => params[parameter] ?? name

/** A parameter's text in the one form in which it counts. */
export function normaliseParameter(parameter: string, text: string): string {
  const { caseless, slashless } = paramOf(parameter)
  if (slashless) return text.replace(/\/$/, '')
  return caseless ? lowerAscii(text) : text
}

/** A path in its one form, and which differences between its spellings do not matter. */
export interface Spelling {
  /** the path in its one form, where several mean the same */
  path: string
  /** index of the segment whose ASCII case does not matter */
  caseless?: number
  /** a slash at the end of the path does not matter */
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
 * How a path may be written otherwise and mean the same. Requests and questions about paths go through this one
 * look-up, so that what is answered about a path is what is enforced on it.
 */
export function spellingOf(path: string): Spelling {
  const index = caseless.find(({ begins }) => begins.test(path))?.index
  if (slashless.some(({ begins }) => begins.test(path)))
    return { path: path.replace(/\/$/, ''), slashless: true }
  if (index === undefined) return { path, slashless: false }
  return { path: lowerSegment(path, index), caseless: index, slashless: false }
}

/** The path, or pattern of paths, with one of its segments in lower case. */
export const lowerSegment = (path: string, index: number): string =>
  path
    .split('/')
    .map((part, at) => (at === index ? lowerAscii(part) : part))
    .join('/')
