import { invalidRequestError } from '../../api/errors.ts'
import { boolField, intField, listField, type ParameterField, textField } from '../../api/fields.ts'
import { canonicalHeaderName } from '../../values/names.ts'
import type { WidenedLiteral } from '../../values/widened.ts'

/** One setting of a mount's calls to AWS: its request field, its stored form and its form in responses. */
interface Setting {
  name: string
  kind(doc: string, options: object): ParameterField<unknown>
  doc: string
  /** `neutral` is the value of an unconfigured setting. */
  neutral: unknown
  /** Returns the form in which policy rules compare the value; default: the value itself. */
  counts?(given: unknown): unknown
  /**
   * Returns the stored form of a setting's value; default: the value itself. @param plain accepts http URLs too.
   * @throws ApiError
   */
  store?(given: unknown, plain: boolean): unknown
  /** Returns the form in responses; default: the stored form. */
  shown?(stored: unknown): unknown
  /** Set if the setting is passed to the AWS service clients. */
  forCalls?: true
}

const headerNames = (names: readonly string[]): string[] => names.map(canonicalHeaderName)

const endpoint = (name: string) => (value: string, plain: boolean) => {
  if (value === '') return value
  const url = URL.canParse(value) ? new URL(value) : undefined
  const schemes = plain ? ['https:', 'http:'] : ['https:']
  const usable =
    url &&
    schemes.includes(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    !/[#?\\\s]/.test(value)
  if (!usable) throw invalidRequestError(`${name} must be an absolute https URL`)
  return value
}

/**
 * The settings by stored name. To add a setting, add a row: its field, default, merge, validation, response and OpenAPI text
 * follow from it. The code that calls AWS interprets the value.
 */
const settings = {
  maxRetries: {
    name: 'max_retries',
    kind: intField,
    doc: 'Retries of recoverable errors; negative: the SDK’s default (2 retries)',
    neutral: -1,
    forCalls: true,
  },
  accessKey: {
    name: 'access_key',
    kind: textField,
    doc: 'Access key ID for calls to AWS; empty: the environment’s credentials',
    neutral: '',
  },
  endpoint: {
    name: 'endpoint',
    kind: textField,
    doc: 'URL instead of the EC2 endpoint of the instance’s region',
    neutral: '',
    store: endpoint('endpoint'),
    forCalls: true,
  },
  iamEndpoint: {
    name: 'iam_endpoint',
    kind: textField,
    doc: 'URL instead of the IAM endpoint',
    neutral: '',
    store: endpoint('iam_endpoint'),
    forCalls: true,
  },
  stsEndpoint: {
    name: 'sts_endpoint',
    kind: textField,
    doc: 'URL instead of the STS endpoint; sts_region should be set with it',
    neutral: '',
    store: endpoint('sts_endpoint'),
    forCalls: true,
  },
  stsRegion: {
    name: 'sts_region',
    kind: textField,
    doc: 'Region of sts_endpoint',
    neutral: '',
    forCalls: true,
  },
  useStsRegionFromClient: {
    name: 'use_sts_region_from_client',
    kind: boolField,
    doc: 'Call STS in the region that the client signed for; overrides sts_endpoint and sts_region',
    neutral: false,
  },
  serverId: {
    name: 'iam_server_id_header_value',
    kind: textField,
    doc: 'Value that iam logins must carry in a signed X-Service-Cloud-IAM-Server-ID header',
    neutral: '',
  },
  /** header names in the form `X-Custom-Thing` */
  allowedHeaders: {
    name: 'allowed_sts_header_values',
    kind: listField,
    doc: 'Further request headers permitted in iam_request_headers',
    neutral: [] as readonly string[],
    counts: headerNames,
    store: headerNames,
    // typed clients of Vault expect null for an empty list
    shown: (names: readonly string[]) => (names.length > 0 ? names : null),
  },
} as const satisfies Record<string, Setting>

type Settings = typeof settings
type Name = keyof Settings
type With<P> = { [K in Name]: Settings[K] extends P ? K : never }[Name]
type Value<K extends Name> = WidenedLiteral<Settings[K]['neutral']>

/** The stored settings of a mount's AWS calls. */
export type ClientSettings = { [K in Name]: Value<K> }

const rows = Object.entries(settings) as [Name, Setting][]

/** The request field of each setting. */
export const clientSettingFields = Object.fromEntries(
  rows.map(([_, { name, kind, doc, counts }]) => [name, kind(doc, counts ? { counts } : {})]),
) as { readonly [K in Name as Settings[K]['name']]: ReturnType<Settings[K]['kind']> }

export const defaultClientSettings = Object.fromEntries(
  rows.map(([key, { neutral }]) => [key, neutral]),
) as ClientSettings

type Given = { readonly [K in Name as Settings[K]['name']]?: unknown }

/**
 * Overwrites stored settings with the settings in the request. @param plain accepts http endpoints too. @throws
 * ApiError
 */
export function mergeClientSettings(stored: ClientSettings, given: Given, plain: boolean): ClientSettings {
  const sent = given as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    rows.map(([key, { name, neutral, store }]) => {
      const value = sent[name]
      if (value === undefined) return [key, stored[key] ?? neutral]
      return [key, store ? store(value, plain) : value]
    }),
  ) as ClientSettings
}

export const clientSettingsAnswer = (stored: ClientSettings): Record<string, unknown> =>
  Object.fromEntries(
    rows.map(([key, { name, neutral, shown }]) => {
      const value = stored[key] ?? neutral
      return [name, shown ? shown(value) : value]
    }),
  )

/** Returns the settings that are passed to the AWS service clients. */
export const selectCallSettings = (stored: ClientSettings): Pick<ClientSettings, With<{ forCalls: true }>> =>
  Object.fromEntries(
    rows.flatMap(([key, { forCalls, neutral }]) => (forCalls ? [[key, stored[key] ?? neutral]] : [])),
  ) as Pick<ClientSettings, With<{ forCalls: true }>>
