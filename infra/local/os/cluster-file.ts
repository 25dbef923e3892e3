import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { root } from '../../checkout.ts'
import { temporaryDirectory } from './temporary.ts'

/** What tools need to reach a running host: the content of `.local/<cluster>/cluster.json`. */
export interface ClusterFile {
  base_url: string
  /** where other clusters reach this one */
  link_address: string
  provider_url: string
  /** commands to the imitated AWS carry it as a bearer token */
  control_token: string
  /** the metadata service of an instance, as clients expect it: AWS_EC2_METADATA_SERVICE_ENDPOINT */
  metadata_url: string
  /** the Invoke call of AWS Lambda */
  lambda_url: string
  /** the API of AWS Step Functions */
  states_url: string
  /** the key that Lambda and Step Functions take */
  access_key_id: string
  secret_access_key: string
  /** where calls to the tables can be counted and made to fail; only when asked for */
  tap_url?: string
  root_token: string
  recovery_keys: string[]
  /** the cluster's own process */
  pid: number
  /** the command that owns the pair, and ends both clusters when it ends; absent: this cluster is of no pair */
  pair_pid?: number
  cluster: string
  functions: Record<string, string>
}

/** A cluster by its name; `memory`: it keeps nothing. */
interface Named {
  cluster: string
  memory: boolean
}

/** Makes the directory of a cluster, unless it is there: a temporary one where it keeps nothing. */
export function makeDirectory({ memory, cluster }: Named): { directory: string; isNew: boolean } {
  if (memory) {
    const directory = temporaryDirectory()
    privateDirectory(directory)
    return { directory, isNew: true }
  }
  const directory = keptAt(cluster)
  const isNew = !existsSync(directory)
  privateDirectory(directory)
  return { directory, isNew }
}

const OWNER_ONLY = 0o700

/**
 * Makes a directory that only its owner reads, and closes one that is open. From then on this process, and whoever it
 * starts, makes every file so: databases, tokens, keys, logs and sockets are never open, whatever the shell's mask says.
 */
export function privateDirectory(directory: string): void {
  // threads cannot change it, and have their process's
  if (isMainThread) process.umask(0o077)
  makeFolder(directory)
  chmodSync(directory, OWNER_ONLY)
  for (const one of readdirSync(directory, { withFileTypes: true }))
    if (one.isFile()) chmodSync(`${directory}/${one.name}`, 0o600)
}

/** Makes a directory and those above it, one by one: below `/proc`, Node's own recursive call never returns. */
export function makeFolder(directory: string): void {
  if (existsSync(directory)) return
  makeFolder(dirname(directory))
  try {
    mkdirSync(directory, { mode: OWNER_ONLY })
  } catch (error) {
    // another process may have made it at this moment
    if (!existsSync(directory)) throw error
  }
}

/** Where clusters keep their state: `.local`, unless the environment names another directory. */
const STATE = resolve(root, process.env['CLOUD_AUTH_STATE'] ?? '.local')

/**
 * Makes the directory in which clusters keep their state, and tries to write there. Commands call it before they begin anything.
 * @throws Error where it cannot be written
 */
export function makeState(): void {
  try {
    makeFolder(STATE)
    rmdirSync(mkdtempSync(`${STATE}/.try-`))
  } catch (error) {
    throw new Error(
      `clusters keep their state in ${STATE}, which cannot be written (${(error as Error).message}): set CLOUD_AUTH_STATE to a directory that can be written`,
    )
  }
}

/** The directory of a cluster that keeps its state. */
export const keptAt = (cluster: string): string => `${STATE}/${cluster}`

/** What is told of a cluster in its file. */
interface Told {
  /** tells something else from now on */
  anew(told: ClusterFile): void
  /** of a cluster that keeps nothing, nothing is told any more */
  end(): void
}

/**
 * Writes `cluster.json`, which has what tools need to reach a cluster.
 * @param folder where it is written; undefined: nowhere, because the cluster is unlisted
 * @param memory the file goes when the cluster ends, and what stood there before comes back
 */
export function tell(folder: string | undefined, told: ClusterFile, memory: boolean): Told {
  if (folder === undefined) return { anew: () => undefined, end: () => undefined }
  const file = `${folder}/cluster.json`
  const before = textOf(file)
  let text = ''
  const anew = (now: ClusterFile) => {
    text = JSON.stringify(now, null, 2)
    privateDirectory(folder)
    writeWhole(file, text)
  }
  anew(told)
  const end = () => {
    if (!memory || textOf(file) !== text) return
    if (before !== undefined) return writeWhole(file, before)
    rmSync(file)
    if (readdirSync(folder).length === 0) rmdirSync(folder)
  }
  return { anew, end }
}

/** The content of a file; undefined when it is not there. */
export const textOf = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

/** A file is there whole or not at all, and only its owner reads it. */
export function writeWhole(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
