import type { Answer, Caller, OperationTokenKind } from '../api/call.ts'
import type { Endpoint } from '../api/endpoint.ts'
import { type ApiError, errorCodes } from '../api/errors.ts'
import type { ParameterFields } from '../api/fields.ts'
import { pathParameterRule } from '../api/params.ts'
import { type Mount, unmaskedAuditKeys } from '../model/mount.ts'
import { tokenEntityId } from '../model/token.ts'
import type { WrapInfo } from '../model/wrapped.ts'
import type { FieldCipher, Ports } from '../ports.ts'
import { defined } from '../values/defined.ts'
import { formatTime } from '../values/time.ts'
import { fitAuditEntry } from './fit-entry.ts'
import type { RequestIntake } from './intake.ts'

/** The caller in an audit entry, as far as the caller is known. */
export interface AuditedCaller {
  caller?: Caller | undefined
  operator?: OperationTokenKind | undefined
  mount?: Mount | undefined
  /** `tuned`: the mount whose tuning selects the values to show: the same mount, or the token store */
  tuned?: Mount | undefined
}

/** The end of a request. */
export type RequestResult =
  | { kind: 'failed'; error: ApiError }
  | { kind: 'answered'; answer: Answer; wrapped?: WrapInfo }

/** The audit trail of one request: an entry before it is processed, and one before its response is sent. */
export interface AuditTrail {
  request(seen: AuditedCaller, error?: ApiError): Promise<void>
  response(ending: RequestResult): Promise<void>
}

/**
 * Starts the audit trail of a request. Secrets appear only as HMACs. The audit entry includes the reasons of a
 * refusal, which clients do not get. The size of an entry is bounded.
 * @see docs/spec/audit.md#entry
 */
export function createAuditTrail(intake: RequestIntake, { audit, clock, cipher: held }: Ports): AuditTrail {
  let begun: Begun | undefined
  const endpoint = intake.match.kind === 'miss' ? undefined : intake.match.endpoint
  const cipher = endpoint?.withoutKeyring ? hmacsWhereItOpens(held) : held
  const write = async (kind: 'request' | 'response', parts: Readonly<Record<string, unknown>>) =>
    audit.write(
      await fitAuditEntry({ audit: kind, time: formatTime(clock.now()), ...parts }, text =>
        cipher.hmac(text),
      ),
    )
  const begin = async (seen: AuditedCaller, error?: ApiError): Promise<Begun> => {
    const path = await shownPath(intake, cipher)
    const told = { request: await requestOf(intake, path, seen, cipher), ...authOf(seen) }
    begun = { common: told, path, shown: unmaskedAuditKeys(seen.tuned, 'response') }
    await write('request', { ...told, ...errorOf(error, intake, path) })
    return begun
  }
  return {
    request: async (seen, error) => void (await begin(seen, error)),
    response: async ending => {
      const error = ending.kind === 'failed' ? ending.error : undefined
      const { common, path, shown } = begun ?? (await begin({}, error))
      const response = await responseOf(ending, endpoint, { path, shown }, cipher)
      await write('response', { ...common, response, ...errorOf(error, intake, path) })
    },
  }
}

/** Replaces HMACs in an entry while the keyring cannot be unwrapped. */
const NO_HMAC = 'not shown: the keyring does not open'

/**
 * Computes HMACs while the keyring can be unwrapped. After one KMS failure the audit trail does not wait for KMS
 * again.
 */
function hmacsWhereItOpens(cipher: Pick<FieldCipher, 'hmac'>): Hmacs {
  let failed = false
  return {
    hmac: async text => {
      if (failed) return NO_HMAC
      return cipher.hmac(text).catch(() => {
        failed = true
        return NO_HMAC
      })
    },
  }
}

type Hmacs = Pick<FieldCipher, 'hmac'>

/** The content of the first entry that the second entry repeats. */
interface Begun {
  common: Readonly<Record<string, unknown>>
  /** `path` with secrets replaced */
  path: string
  /** response fields that an administrator wants in plain text */
  shown: readonly string[]
}

/** Returns the path with any secret in it replaced by the secret's HMAC. */
async function shownPath({ facts: { path }, match }: RequestIntake, cipher: Hmacs): Promise<string> {
  const secret = secretIn(path, match)
  return secret !== '' && path.endsWith(secret)
    ? `${path.slice(0, -secret.length)}${await cipher.hmac(secret)}`
    : path
}

function secretIn(path: string, found: RequestIntake['match']): string {
  if (found.kind === 'miss' && found.miss === 'path') return path.slice(shownOfMissed(path).length)
  const parameter = Object.entries(found.pathParameters).find(([name]) => pathParameterRule(name).secret)?.[1]
  if (parameter !== undefined) return parameter
  // help also accepts path prefixes, whose parameters are not parsed, so anything that looks like a token is hidden
  const help = found.kind === 'endpoint' && found.endpoint.access.by === 'token'
  return help ? (/(?<=^|\/)(?:hv)?[sbr]\..*$/.exec(path)?.[0] ?? '') : ''
}

/**
 * The words that may follow `auth/token/`. Any other text after `auth/token/`, and any text after these words, may
 * be a token.
 */
const TOKEN_WORDS = /^(?:accessors|create|lookup|renew|revoke|roles|tidy)(?:-[a-z]+)*$/
const LIKE_A_TOKEN = /^(?:hv)?[sbr]\./

/**
 * Returns the part of an unknown path that is safe to show. The rest of an unknown path may be a token, because
 * clients of older versions or other services may append one.
 */
function shownOfMissed(path: string): string {
  const parts = path.split('/')
  const most = parts[0] !== 'auth' || (parts[1] === 'token' && !TOKEN_WORDS.test(parts[2] ?? '')) ? 2 : 3
  const secret = parts.findIndex((part, index) => index >= most || LIKE_A_TOKEN.test(part))
  if (secret < 0) return path
  return parts
    .slice(0, secret)
    .map(part => `${part}/`)
    .join('')
}

async function requestOf(
  { match, facts, token, raw, parameters }: RequestIntake,
  path: string,
  { mount, tuned }: AuditedCaller,
  cipher: Hmacs,
): Promise<Record<string, unknown>> {
  const fields = match.kind === 'miss' ? {} : match.endpoint.fields
  const tunedKeys = unmaskedAuditKeys(tuned, 'request')
  const shown = [...shownFields(fields, parameters), ...tunedKeys]
  const declared = Object.entries(fields).flatMap(([name, { formerly }]) => [name, formerly ?? name])
  const known = new Set([...declared, ...tunedKeys])
  const expected = Object.fromEntries(Object.entries(raw).filter(([name]) => known.has(name)))
  return defined({
    id: facts.id,
    gateway_id: facts.gatewayId || undefined,
    operation: facts.operation,
    path,
    remote_address: facts.source,
    ...(mount ? { mount_accessor: mount.accessor, mount_type: mount.type } : {}),
    client_token: token ? await cipher.hmac(token.reveal()) : undefined,
    wrap_ttl: facts.wrapTtl,
    data: await hashed(expected, name => !shown.includes(name), cipher),
    ...(await unknownIn(raw, known, cipher)),
  })
}

/** Computes one HMAC for all unknown parameters, over their object as JSON with sorted names. */
async function unknownIn(
  raw: RequestIntake['raw'],
  known: ReadonlySet<string>,
  cipher: Hmacs,
): Promise<Record<string, unknown>> {
  const unknown = Object.entries(raw).filter(([name]) => !known.has(name))
  if (unknown.length === 0) return {}
  const sorted = unknown.sort(([a], [b]) => (a < b ? -1 : 1))
  const hmac = await cipher.hmac(JSON.stringify(Object.fromEntries(sorted)))
  return { unknown: { count: unknown.length, hmac } }
}

// A field that could not be read may contain a misplaced secret, so it is not shown.
const shownFields = (fields: ParameterFields, given: RequestIntake['parameters']): string[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    field.secret || !Object.hasOwn(given, name) ? [] : [name, field.formerly ?? name],
  )

const authOf = ({ caller, operator }: AuditedCaller): Record<string, unknown> => ({
  ...(operator ? { operation_token: operator } : {}),
  ...(caller
    ? {
        auth: defined({
          accessor: caller.accessor,
          display_name: caller.token.displayName,
          entity_id: tokenEntityId(caller.token),
          metadata: caller.token.meta,
          policies: caller.token.policies,
          identity_policies: caller.identityPolicies.length > 0 ? caller.identityPolicies : undefined,
          token_type: caller.token.type,
        }),
      }
    : {}),
})

const errorOf = (
  error: ApiError | undefined,
  { facts }: RequestIntake,
  path: string,
): Record<string, unknown> =>
  error
    ? defined({
        error: error.code,
        message: error.message ? error.message.replaceAll(facts.path, path) : undefined,
        reason: error.reason,
      })
    : {}

async function responseOf(
  ending: RequestResult,
  endpoint: Endpoint | undefined,
  { path, shown }: Pick<Begun, 'path' | 'shown'>,
  cipher: Hmacs,
): Promise<Record<string, unknown>> {
  if (ending.kind === 'failed') return { status: errorCodes[ending.error.code].status }
  const { answer, wrapped } = ending
  const warnings = answer.warnings?.length ? { warnings: answer.warnings } : {}
  const info = wrapped ?? (answer.kind === 'wrapped' ? answer.info : undefined)
  const wrapInfo = info
    ? { wrap_info: { ...info, token: await cipher.hmac(info.token), creation_path: path } }
    : {}
  if (answer.kind === 'data') {
    return {
      data: await hashed(
        answer.data,
        name => isSecretAnswer(endpoint, name) && !shown.includes(name),
        cipher,
      ),
      ...warnings,
      ...wrapInfo,
    }
  }
  if (answer.kind !== 'auth') return { ...warnings, ...wrapInfo }
  const { client_token, metadata, ...auth } = answer.auth
  const details = metadata ? await hashed(metadata, name => name === 'nonce', cipher) : null
  return {
    auth: { ...auth, client_token: await cipher.hmac(client_token), metadata: details },
    ...warnings,
    ...wrapInfo,
  }
}

const isSecretAnswer = (endpoint: Endpoint | undefined, name: string): boolean =>
  endpoint?.freeForm ?? endpoint?.secretAnswers?.includes(name) ?? false

async function hashed(
  values: Readonly<Record<string, unknown>>,
  isSecret: (name: string) => boolean,
  cipher: Hmacs,
): Promise<Record<string, unknown>> {
  const entries = Object.entries(values).map(async ([name, value]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return [name, isSecret(name) ? await cipher.hmac(text) : value] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
