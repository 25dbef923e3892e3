import { readdirSync, readFileSync } from 'node:fs'
import { parseDuration } from '../../shared/values/duration.ts'
import { Ended } from './ended.ts'

export type CommandEnvironment = Readonly<Record<string, string | undefined>>

/** How clusters are reached, whichever they are. */
export interface Connection {
  /** authorities, PEM; absent: those of the runtime */
  ca?: readonly string[]
  /** certificate and key of this client, PEM */
  cert?: string
  key?: string
  /** name that the certificate of a cluster is for, where it is not that of the address */
  servername?: string
  namespace?: string
  timeoutMs: number
}

const TIMEOUT_S = '60'

/** A variable as the clients of OpenBao and Vault have it: `BAO_<name>`, else `VAULT_<name>`. */
export const variableOf = (environment: CommandEnvironment, name: string): string | undefined =>
  environment[`BAO_${name}`] || environment[`VAULT_${name}`] || undefined

/**
 * How to connect, by the variables of the usual clients.
 * @param namespace the option, which comes first
 * @throws Ended `usage` where a file cannot be read, or a variable is not supported
 */
export function connectionOf(environment: CommandEnvironment, namespace?: string): Connection {
  const given = (name: string) => variableOf(environment, name)
  if (/^(1|t|true)$/i.test(given('SKIP_VERIFY') ?? ''))
    throw new Ended('usage', 'VAULT_SKIP_VERIFY is not supported: name the authority in VAULT_CACERT')
  if (given('CLIENT_CERT') !== undefined && given('CLIENT_KEY') === undefined)
    throw new Ended('usage', 'VAULT_CLIENT_CERT wants its key in VAULT_CLIENT_KEY')
  const seconds = parseDuration(given('CLIENT_TIMEOUT') ?? TIMEOUT_S)
  if (!seconds) throw new Ended('usage', 'VAULT_CLIENT_TIMEOUT must be a duration: 60, or 1m30s')
  const ca = authoritiesOf(given)
  return {
    timeoutMs: seconds * 1000,
    ...(ca ? { ca } : {}),
    ...fileOf(given, 'CLIENT_CERT', 'cert'),
    ...fileOf(given, 'CLIENT_KEY', 'key'),
    ...optional(given('TLS_SERVER_NAME'), 'servername'),
    ...optional(namespace ?? given('NAMESPACE'), 'namespace'),
  }
}

type Given = (name: string) => string | undefined

const optional = <Key extends string>(value: string | undefined, key: Key) =>
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: string }

const fileOf = <Key extends string>(given: Given, name: string, key: Key) => {
  const path = given(name)
  return optional(path && textIn(path, name), key)
}

function authoritiesOf(given: Given): readonly string[] | undefined {
  const [bytes, file, folder] = [given('CACERT_BYTES'), given('CACERT'), given('CAPATH')]
  if (bytes !== undefined) return [bytes]
  if (file !== undefined) return [textIn(file, 'CACERT')]
  if (folder === undefined) return undefined
  return orRefuse('CAPATH', folder, () =>
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => !entry.isDirectory())
      .map(({ name }) => readFileSync(`${folder}/${name}`, 'utf8')),
  )
}

const textIn = (path: string, name: string): string => orRefuse(name, path, () => readFileSync(path, 'utf8'))

function orRefuse<T>(name: string, path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new Ended(
      'usage',
      `VAULT_${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}

/**
 * Where the API of a cluster begins: `https://host/v1`, with or without `/v1` in what was given.
 * @throws Ended `usage`
 */
export function apiBase(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new Ended('usage', `the address must be one like https://auth.example.com, not ${shown(address)}`)
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
}

// what is between the scheme and an @ may be a password
const shown = (address: string): string => JSON.stringify(address.replace(/\/\/[^/]*@/, '//…@'))
