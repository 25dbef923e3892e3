import { readdirSync, readFileSync } from 'node:fs'
import { parseDuration } from '../../shared/values/duration.ts'
import { CommandEnded } from './ended.ts'

export type CommandEnvironment = Readonly<Record<string, string | undefined>>

/** Connection settings for all clusters. */
export interface ApiConnection {
  /** PEM certificates of CAs; absent: the CAs of the runtime */
  ca?: readonly string[]
  /** client certificate and key, PEM */
  cert?: string
  key?: string
  /** name in the cluster's certificate, if it differs from the address */
  servername?: string
  namespace?: string
  timeoutMs: number
  /** aborted: a request ends at once */
  signal?: AbortSignal
}

const TIMEOUT_S = '60'

/** Reads a variable as the clients of OpenBao and Vault do: `BAO_<name>`, else `VAULT_<name>`. */
export const readCommandVariable = (environment: CommandEnvironment, name: string): string | undefined =>
  environment[`BAO_${name}`] || environment[`VAULT_${name}`] || undefined

/**
 * Reads the connection settings from the usual variables.
 * @param namespace the option, which takes precedence
 * @throws CommandEnded `usage` if a file cannot be read or a variable is not supported
 */
export function readApiConnection(environment: CommandEnvironment, namespace?: string): ApiConnection {
  const given = (name: string) => readCommandVariable(environment, name)
  if (/^(1|t|true)$/i.test(given('SKIP_VERIFY') ?? ''))
    throw new CommandEnded(
      'usage',
      'VAULT_SKIP_VERIFY is not supported. Name the CA certificate in VAULT_CACERT',
    )
  if (given('CLIENT_CERT') !== undefined && given('CLIENT_KEY') === undefined)
    throw new CommandEnded('usage', 'VAULT_CLIENT_CERT needs the key of the certificate in VAULT_CLIENT_KEY')
  const seconds = parseDuration(given('CLIENT_TIMEOUT') ?? TIMEOUT_S)
  if (!seconds) throw new CommandEnded('usage', 'VAULT_CLIENT_TIMEOUT must be a duration such as 60 or 1m30s')
  const ca = readAuthorities(given)
  return {
    timeoutMs: seconds * 1000,
    ...(ca ? { ca } : {}),
    ...readOptionalFile(given, 'CLIENT_CERT', 'cert'),
    ...readOptionalFile(given, 'CLIENT_KEY', 'key'),
    ...optional(given('TLS_SERVER_NAME'), 'servername'),
    ...optional(namespace ?? given('NAMESPACE'), 'namespace'),
  }
}

type Given = (name: string) => string | undefined

const optional = <Key extends string>(value: string | undefined, key: Key) =>
  (value === undefined ? {} : { [key]: value }) as { [K in Key]?: string }

const readOptionalFile = <Key extends string>(given: Given, name: string, key: Key) => {
  const path = given(name)
  return optional(path && readText(path, name), key)
}

function readAuthorities(given: Given): readonly string[] | undefined {
  const [bytes, file, folder] = [given('CACERT_BYTES'), given('CACERT'), given('CAPATH')]
  if (bytes !== undefined) return [bytes]
  if (file !== undefined) return [readText(file, 'CACERT')]
  if (folder === undefined) return undefined
  return orUsageFault('CAPATH', folder, () =>
    readdirSync(folder, { withFileTypes: true })
      .filter(entry => !entry.isDirectory())
      .map(({ name }) => readFileSync(`${folder}/${name}`, 'utf8')),
  )
}

const readText = (path: string, name: string): string =>
  orUsageFault(name, path, () => readFileSync(path, 'utf8'))

function orUsageFault<T>(name: string, path: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new CommandEnded(
      'usage',
      `VAULT_${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`,
    )
  }
}

/**
 * Returns the base URL of a cluster's API, `https://host/v1`, for an address with or without `/v1`.
 * @throws CommandEnded `usage`
 */
export function parseApiBase(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new CommandEnded(
      'usage',
      `the address must be a URL such as https://auth.example.com, not ${hidePassword(address)}`,
    )
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`
}

// the text between the scheme and an @ may contain a password
const hidePassword = (address: string): string => JSON.stringify(address.replace(/\/\/[^/]*@/, '//…@'))
