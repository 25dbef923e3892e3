import { invalidRequestError } from '../api/errors.ts'
import type { ParameterField } from '../api/fields.ts'
import { defined } from '../values/defined.ts'
import {
  type TokenParameters,
  type TokenTermFieldName,
  type TokenTermOwner,
  type TokenTerms,
  tokenTermRows,
} from './terms.ts'

type TermFields = Readonly<Record<TokenTermFieldName, ParameterField<unknown>>>

/** Token parameters in a role request. The role's fields decide which names exist. */
type Given = { readonly [name in TokenTermFieldName]?: unknown }

/** Returns the request fields of the token parameters, for roles or for token roles. */
export function createTokenTermFields(taker: TokenTermOwner): TermFields {
  const current = tokenTermRows.flatMap(([_, { name, of, kind, doc, counts }]) =>
    of.includes(taker) ? [[name, kind(doc, counts ? { counts } : {})] as const] : [],
  )
  const deprecated = tokenTermRows.flatMap(([_, { name, kind, counts, old }]) =>
    old?.of.includes(taker)
      ? [[old.name, kind(`Deprecated: ${name}`, defined({ replacedBy: name, counts }))] as const]
      : [],
  )
  return Object.fromEntries([...current, ...deprecated]) as TermFields
}

/** Token parameters without any limit. */
export const defaultTokenParameters = {
  ...Object.fromEntries(tokenTermRows.map(([key, { neutral }]) => [key, neutral])),
  legacy: {},
} as TokenParameters

/**
 * Merges the parameters of a request into the stored parameters and validates the result.
 *
 * @param mountMax maximum TTL of the mount, seconds
 * @throws ApiError `invalid_request`
 * @see docs/spec/roles.md#token-parameters
 */
export function mergeTokenParameters(
  stored: TokenParameters,
  given: Given,
  mountMax: number,
): TokenParameters {
  const sent = given as Readonly<Record<string, unknown>>
  const merged: Record<string, unknown> = {}
  const legacy: Record<string, unknown> = {}
  for (const [key, row] of tokenTermRows) {
    const current = readAs(row, sent[row.name])
    const old = row.old && readAs(row.old, sent[row.old.name])
    merged[key] = current ?? old ?? stored[key]
    // a deprecated spelling is stored only while it has the same value as the current spelling
    const says = old === undefined ? undefined : (current ?? old)
    const kept = says ?? (current === undefined ? storedLegacy(stored, key) : undefined)
    if (kept !== undefined) legacy[key] = kept
  }
  const next = { ...merged, legacy } as TokenParameters
  const fault = faultOf(next, mountMax)
  if (fault) throw invalidRequestError(fault)
  return next
}

const storedLegacy = ({ legacy }: TokenParameters, key: string): unknown =>
  (legacy as Readonly<Record<string, unknown>>)[key]

const readAs = ({ store }: { store?(given: unknown): unknown }, given: unknown): unknown =>
  given === undefined || !store ? given : store(given)

function faultOf(merged: TokenParameters, mountMax: number): string | undefined {
  for (const [key, { fault }] of tokenTermRows) {
    const found = fault?.(merged[key], mountMax)
    if (found) return found
  }
  if (merged.maxTtl > 0 && merged.ttl > merged.maxTtl)
    return 'token_ttl must not be greater than token_max_ttl'
  if (merged.type === 'batch' && (merged.period > 0 || merged.numUses > 0)) {
    return 'batch tokens can have neither token_period nor token_num_uses'
  }
  return undefined
}

/** Returns a warning if the role allows a longer TTL than its mount. */
export const tokenParameterWarnings = (parameters: TokenParameters, mountMax: number): string[] =>
  parameters.maxTtl > mountMax
    ? [
        `token_max_ttl (${parameters.maxTtl} s) exceeds the mount’s maximum (${mountMax} s); the mount’s maximum applies`,
      ]
    : []

/**
 * Returns the response form of a role's token parameters. Deprecated names of parameters appear if they were used;
 * token roles always show some of them.
 */
export function showTokenParameters(
  parameters: TokenParameters,
  taker: TokenTermOwner,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [key, { name, of, neutral, old }] of tokenTermRows) {
    if (of.includes(taker)) shown[name] = parameters[key]
    const used = storedLegacy(parameters, key)
    if (!old?.of.includes(taker)) continue
    if (saysSomething(used) || (taker === 'token-role' && old.always)) shown[old.name] = used ?? neutral
  }
  return shown
}

const saysSomething = (value: unknown): boolean => (Array.isArray(value) ? value.length > 0 : Boolean(value))

const keptRows = tokenTermRows.filter(([_, { kept }]) => kept)

/** Selects the parameters that a token stores. */
export const pickTokenTerms = (parameters: TokenParameters): TokenTerms =>
  Object.fromEntries(keptRows.map(([key]) => [key, parameters[key]])) as TokenTerms

/** Returns the response form of the parameters that a token stores. */
export const showTokenTerms = (token: TokenTerms): Record<string, unknown> =>
  Object.fromEntries(
    keptRows.flatMap(([key, { name, kept }]) => {
      const value = (token as Readonly<Record<string, unknown>>)[key]
      return kept === 'shown' || saysSomething(value) ? [[name.replace(/^token_/, ''), value]] : []
    }),
  )
