import type { Answer, Caller } from '../api/call.ts'
import { type Endpoint, paramOf } from '../api/endpoint.ts'
import { type ApiError, answers } from '../api/errors.ts'
import type { Fields } from '../api/fields.ts'
import type { Mount } from '../mounts/mount.ts'
import type { Ports, Sealer } from '../ports.ts'
import { entityIdOf } from '../tokens/token.ts'
import type { WrapInfo } from '../tokens/wrapping.ts'
import { printTime } from '../values/time.ts'
import type { Intake } from './intake.ts'

/** What is known of the one who calls, once that is known. */
export interface Seen {
  caller?: Caller | undefined
  mount?: Mount | undefined
}

/** How a request ended. */
export type Ending = { error: ApiError } | { answer: Answer; wrapped?: WrapInfo }

/** The audit trail of one request: an entry before anything is done, and one before the answer is given. */
export interface Trail {
  request(seen: Seen, error?: ApiError): Promise<void>
  response(ending: Ending): Promise<void>
}

/**
 * Starts the trail of a request. Secrets appear as HMACs only; the reasons of a refusal, which callers do not
 * see, appear in full. @see issue of the audit log in docs/security.md; auth-behaviour part 2 B
 */
export function auditTrail(intake: Intake, { audit, sealer, clock }: Ports): Trail {
  let begun: Begun | undefined
  const endpoint = 'miss' in intake.found ? undefined : intake.found.endpoint
  const begin = async (seen: Seen, error?: ApiError): Promise<Begun> => {
    const path = await shownPath(intake, sealer)
    const told = { request: await requestOf(intake, path, seen, sealer), ...authOf(seen) }
    begun = { told, path }
    const time = printTime(clock.now())
    await audit.write({ audit: 'request', time, ...told, ...errorOf(error, intake, path) })
    return begun
  }
  return {
    request: async (seen, error) => void (await begin(seen, error)),
    response: async ending => {
      const error = 'error' in ending ? ending.error : undefined
      const { told, path } = begun ?? (await begin({}, error))
      const response = await responseOf(ending, endpoint, path, sealer)
      const time = printTime(clock.now())
      await audit.write({ audit: 'response', time, ...told, response, ...errorOf(error, intake, path) })
    },
  }
}

/** What the first entry told and the second one repeats. */
interface Begun {
  told: Readonly<Record<string, unknown>>
  /** as it may be shown */
  path: string
}

/** The path, with the HMAC of a parameter that is secret. */
async function shownPath({ facts: { path }, found }: Intake, sealer: Sealer): Promise<string> {
  const secret = Object.entries(found.params).find(([name]) => paramOf(name).secret)?.[1] ?? ''
  return secret !== '' && path.endsWith(secret)
    ? `${path.slice(0, -secret.length)}${await sealer.hmac(secret)}`
    : path
}

async function requestOf(
  { found, facts, token, raw, given }: Intake,
  path: string,
  { mount }: Seen,
  sealer: Sealer,
): Promise<Record<string, unknown>> {
  const shown = shownFields('miss' in found ? {} : found.endpoint.fields, given)
  return {
    id: facts.id,
    operation: facts.operation,
    path,
    remote_address: facts.source,
    ...(mount ? { mount_accessor: mount.accessor, mount_type: mount.type } : {}),
    ...(token ? { client_token: await sealer.hmac(token.reveal()) } : {}),
    ...(facts.wrapTtl === undefined ? {} : { wrap_ttl: facts.wrapTtl }),
    data: await hashed(raw, name => !shown.includes(name), sealer),
  }
}

// What an endpoint does not know, or could not read, may be a secret in a wrong place.
const shownFields = (fields: Fields, given: Intake['given']): string[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.secret || !Object.hasOwn(given, name) ? [] : [name, field.formerly ?? name],
  )

const authOf = ({ caller }: Seen): Record<string, unknown> =>
  caller
    ? {
        auth: {
          accessor: caller.accessor,
          display_name: caller.token.displayName,
          entity_id: entityIdOf(caller.token),
          metadata: caller.token.meta,
          policies: caller.token.policies,
          ...(caller.identityPolicies.length > 0 ? { identity_policies: caller.identityPolicies } : {}),
          token_type: caller.token.type,
        },
      }
    : {}

const errorOf = (error: ApiError | undefined, { facts }: Intake, path: string): Record<string, unknown> =>
  error
    ? {
        error: error.code,
        ...(error.message ? { message: error.message.replaceAll(facts.path, path) } : {}),
        ...(error.reason ? { reason: error.reason } : {}),
      }
    : {}

async function responseOf(
  ending: Ending,
  endpoint: Endpoint | undefined,
  path: string,
  sealer: Sealer,
): Promise<Record<string, unknown>> {
  if ('error' in ending) return { status: answers[ending.error.code].status }
  const { answer, wrapped } = ending
  const warnings = answer.warnings?.length ? { warnings: answer.warnings } : {}
  const wrapInfo = wrapped
    ? { wrap_info: { ...wrapped, token: await sealer.hmac(wrapped.token), creation_path: path } }
    : {}
  if (answer.kind === 'data') {
    return {
      data: await hashed(answer.data, name => isSecretAnswer(endpoint, name), sealer),
      ...warnings,
      ...wrapInfo,
    }
  }
  if (answer.kind !== 'auth') return { ...warnings, ...wrapInfo }
  const { client_token, metadata, ...auth } = answer.auth
  const shown = metadata ? await hashed(metadata, name => name === 'nonce', sealer) : null
  return {
    auth: { ...auth, client_token: await sealer.hmac(client_token), metadata: shown },
    ...warnings,
    ...wrapInfo,
  }
}

const isSecretAnswer = (endpoint: Endpoint | undefined, name: string): boolean =>
  endpoint?.freeForm ?? endpoint?.secretAnswers?.includes(name) ?? false

async function hashed(
  values: Readonly<Record<string, unknown>>,
  isSecret: (name: string) => boolean,
  sealer: Sealer,
): Promise<Record<string, unknown>> {
  const entries = Object.entries(values).map(async ([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return [name, isSecret(name) ? await sealer.hmac(text) : value] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
