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
import { checkoutRoot } from '../../checkout.ts'
import { makeTemporaryDirectory } from './temporary.ts'

/** The data that tools need to reach a running host: the content of `.local/<cluster>/cluster.json`. */
export interface ClusterStateFile {
  base_url: string
  /** address for other clusters */
  link_address: string
  provider_url: string
  /** bearer token for commands to the imitated AWS */
  control_token: string
  /** address of the metadata service of an instance, as the value of AWS_EC2_METADATA_SERVICE_ENDPOINT */
  metadata_url: string
  /** Lambda's Invoke API */
  lambda_url: string
  /** the Step Functions API */
  states_url: string
  /** access key for Lambda and Step Functions */
  access_key_id: string
  secret_access_key: string
  root_token: string
  recovery_keys: string[]
  /** process id of the cluster */
  pid: number
  /**
   * process id of the command that runs the pair and ends both clusters with itself; absent: the cluster
   * belongs to no pair
   */
  pair_pid?: number
  cluster: string
  functions: Record<string, string>
}

/** A cluster by its name; `memory`: the cluster has no stored state. */
interface Named {
  cluster: string
  memory: boolean
}

/** Creates the directory of a cluster if it is missing; a temporary directory if state is not stored. */
export function makeClusterDirectory({ memory, cluster }: Named): { directory: string; isNew: boolean } {
  if (memory) {
    const directory = makeTemporaryDirectory()
    makeDirectoryPrivate(directory)
    return { directory, isNew: true }
  }
  const directory = clusterDirectory(cluster)
  const isNew = !existsSync(directory)
  makeDirectoryPrivate(directory)
  return { directory, isNew }
}

const OWNER_ONLY = 0o700

/**
 * Creates a directory that only its owner can read, or restricts an existing directory. Also sets the umask
 * of this process and its children, so that databases, tokens, keys, logs and sockets are never readable by
 * other users.
 */
export function makeDirectoryPrivate(directory: string): void {
  // threads cannot set the umask; they have the umask of their process
  if (isMainThread) process.umask(0o077)
  makePrivateFolder(directory)
  chmodSync(directory, OWNER_ONLY)
  for (const one of readdirSync(directory, { withFileTypes: true }))
    if (one.isFile()) chmodSync(`${directory}/${one.name}`, 0o600)
}

/** Creates a directory and its parents one by one, because Node's recursive call never returns below `/proc`. */
export function makePrivateFolder(directory: string): void {
  if (existsSync(directory)) return
  makePrivateFolder(dirname(directory))
  try {
    mkdirSync(directory, { mode: OWNER_ONLY })
  } catch (error) {
    // another process may have created the directory at the same time
    if (!existsSync(directory)) throw error
  }
}

/** Directory of the clusters' state: `.local`, unless the environment names another directory. */
const STATE = resolve(checkoutRoot, process.env['CLOUD_AUTH_STATE'] ?? '.local')

/**
 * Creates the directory of the clusters' state and checks that it is writable. Commands call this function
 * first.
 * @throws Error if the directory cannot be written
 */
export function requireStateDirectory(): void {
  try {
    makePrivateFolder(STATE)
    rmdirSync(mkdtempSync(`${STATE}/.try-`))
  } catch (error) {
    throw new Error(
      `the state directory ${STATE} cannot be written (${(error as Error).message}). Set CLOUD_AUTH_STATE to a writable directory`,
    )
  }
}

/** Returns the directory of a cluster with stored state. */
export const clusterDirectory = (cluster: string): string => `${STATE}/${cluster}`

/** The published file of a cluster. */
interface PublishedFile {
  /** replaces the content */
  replace(told: ClusterStateFile): void
  /** removes the file of a cluster without stored state */
  end(): void
}

/**
 * Writes `cluster.json`, from which tools learn how to reach a cluster.
 * @param folder folder of the file; undefined: the cluster is unlisted and has no file
 * @param memory removes the file when the cluster ends, and restores an earlier file
 */
export function publishClusterFile(
  folder: string | undefined,
  told: ClusterStateFile,
  memory: boolean,
): PublishedFile {
  if (folder === undefined) return { replace: () => undefined, end: () => undefined }
  const file = `${folder}/cluster.json`
  const before = readTextFile(file)
  let text = ''
  const anew = (now: ClusterStateFile) => {
    text = JSON.stringify(now, null, 2)
    makeDirectoryPrivate(folder)
    writeFileAtomically(file, text)
  }
  anew(told)
  const end = () => {
    if (!memory || readTextFile(file) !== text) return
    if (before !== undefined) return writeFileAtomically(file, before)
    rmSync(file)
    if (readdirSync(folder).length === 0) rmdirSync(folder)
  }
  return { replace: anew, end }
}

/** Returns the content of a file, or undefined if the file does not exist. */
export const readTextFile = (file: string): string | undefined =>
  existsSync(file) ? readFileSync(file, 'utf8') : undefined

/** Writes a file atomically, readable by its owner only. */
export function writeFileAtomically(file: string, content: string): void {
  writeFileSync(`${file}.new`, content, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}
