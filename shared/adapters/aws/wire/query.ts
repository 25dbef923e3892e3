import { only, readXml, type XmlElement } from '../../../values/xml.ts'
import { wireSettings } from '../environment.ts'
import { ATTEMPT_MS, PAUSE_MS } from './limits.ts'
import type { WireAnswer } from './post.ts'
import { insisting, type Repeated } from './retry.ts'
import { ServiceError, unreadable } from './service-error.ts'
import { percentEncoded } from './sign.ts'
import { type KeySource, retryAfterIn, signedPosts } from './signed-posts.ts'

/** Services that take forms and answer XML, by the version of their interface. */
const VERSIONS = { ec2: '2016-11-15', iam: '2010-05-08', sts: '2011-06-15' }

export interface QuerySettings {
  region: string
  credentials: KeySource
  maxAttempts: number
  /** absent: where AWS has it */
  endpoint?: string
  /** absent: true; whether a call is repeated that the service refuses because there are too many */
  repeatsThrottled?: boolean
  /** told of each attempt that failed and is followed by another one */
  repeated?: Repeated | undefined
}

/**
 * Asks a service for something. @param ms that the call may take, with all its attempts
 * @returns the element that holds the result
 * @throws ServiceError when the service refuses; Error when it does not answer
 */
export type QueryCalls = (
  action: string,
  params: readonly (readonly [name: string, value: string])[],
  ms?: number,
) => Promise<XmlElement>

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** Answers about a hundred instances may be a megabyte. */
const LIMITS = { longest: 8 * 2 ** 20, deepest: 16 }

/** @throws Error for an endpoint that cannot be */
export function queryCalls(service: keyof typeof VERSIONS, settings: QuerySettings): QueryCalls {
  const { region, credentials, maxAttempts, endpoint, repeatsThrottled = true, repeated } = settings
  const post = signedPosts({ service, region, credentials, endpoint, settings: wireSettings() })
  const insist = insisting({ most: maxAttempts, pauseMs: PAUSE_MS, repeatsThrottled, repeated })
  return (action, params, ms) => {
    const rest = params.map(([name, value]) => `&${percentEncoded(name)}=${percentEncoded(value)}`).join('')
    const body = `Action=${action}&Version=${VERSIONS[service]}${rest}`
    return insist(
      async left =>
        resultOf(service, action, await post(FORM, body, Math.min(ATTEMPT_MS, Math.max(1, left)))),
      ms,
    )
  }
}

function resultOf(service: keyof typeof VERSIONS, action: string, answer: WireAnswer): XmlElement {
  const root = readXml(answer.body.toString('utf8'), LIMITS)
  if (answer.status !== 200) throw errorIn(root, answer)
  if (root?.name !== `${action}Response`) throw unreadable('an answer is no such XML')
  return service === 'ec2' ? root : (only(root, `${action}Result`) ?? refuse('an answer has no result'))
}

/** What a service says of a call that it did not do: EC2 lists its errors, the others have one. */
function errorIn(root: XmlElement | undefined, answer: WireAnswer): ServiceError {
  const { status } = answer
  const retryAfterMs = retryAfterIn(answer)
  const errors = root && (root.name === 'Response' ? only(root, 'Errors') : root)
  const error = errors && only(errors, 'Error')
  const said = (name: string) => error && only(error, name)?.text
  const name = said('Code') || (status === 404 ? 'NotFound' : 'Unknown')
  return new ServiceError(name, said('Message') ?? '', {
    status,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })
}

/** The element at a path of names; undefined where there is none. @throws ServiceError for one that is there twice */
export const elementAt = (from: XmlElement, ...names: readonly string[]): XmlElement | undefined =>
  names.reduce<XmlElement | undefined>((element, name) => element && childOf(element, name), from)

function childOf(parent: XmlElement, name: string): XmlElement | undefined {
  if (!parent.children.some(child => child.name === name)) return undefined
  return only(parent, name) ?? refuse('an element is there twice, or in another namespace')
}

/** The text at a path; undefined where there is none. @throws ServiceError for what is no text */
export function textAt(from: XmlElement, ...names: readonly string[]): string | undefined {
  const found = elementAt(from, ...names)
  if (found && found.children.length > 0) return refuse('a text is none')
  return found?.text
}

function refuse(why: string): never {
  throw unreadable(why)
}

/** The elements of a list (`item`, or `member`) at a path; none where it is not there. @throws ServiceError */
export function listAt(from: XmlElement, list: string, entry: string): readonly XmlElement[] {
  const entries = elementAt(from, list)?.children ?? []
  return entries.every(one => one.name === entry) ? entries : refuse('a list is none')
}
