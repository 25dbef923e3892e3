import { invalidRequestError } from '../../api/errors.ts'
import { canonicalHeaderName } from '../../values/names.ts'
import type { WidenedLiteral } from '../../values/widened.ts'

/** One setting of a mount's calls to AWS: the name of its request field, its stored form and its form in responses. */
interface Setting {
  name: string
  /** `neutral` is the value of an unconfigured setting. */
  neutral: unknown
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

/** Returns header names in the form `X-Custom-Thing`. */
export const canonicalHeaderNames = (names: readonly string[]): string[] => names.map(canonicalHeaderName)

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
 * The settings by stored name. To add a setting, add a row: its default, merge, validation and response follow from it.
 * The compiler then requires its field in `client-setting-fields.ts`. The code that calls AWS interprets the value.
 */
const settings = {
  maxRetries: {
    name: 'max_retries',
    neutral: -1,
    forCalls: true,
  },
  accessKey: {
    name: 'access_key',
    neutral: '',
  },
  endpoint: {
    name: 'endpoint',
    neutral: '',
    store: endpoint('endpoint'),
    forCalls: true,
  },
  iamEndpoint: {
    name: 'iam_endpoint',
    neutral: '',
    store: endpoint('iam_endpoint'),
    forCalls: true,
  },
  stsEndpoint: {
    name: 'sts_endpoint',
    neutral: '',
    store: endpoint('sts_endpoint'),
    forCalls: true,
  },
  stsRegion: {
    name: 'sts_region',
    neutral: '',
    forCalls: true,
  },
  useStsRegionFromClient: {
    name: 'use_sts_region_from_client',
    neutral: false,
  },
  serverId: {
    name: 'iam_server_id_header_value',
    neutral: '',
  },
  /** header names in the form `X-Custom-Thing` */
  allowedHeaders: {
    name: 'allowed_sts_header_values',
    neutral: [] as readonly string[],
    store: canonicalHeaderNames,
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

/** The names of the settings in requests and responses. */
export type ClientSettingName = Settings[Name]['name']

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
