import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { checkoutRoot } from '../../checkout.ts'
import { makeDirectoryPrivate } from '../os/cluster-file.ts'
import { isDirectoryLockHeld } from '../os/lock.ts'
import { checkPortsAreFree, chooseFreePort, findSteadyPort } from '../os/loopback.ts'
import { createRemoteControl } from '../provider/control.ts'
import { acquireProviderLease, type ProviderLease } from '../provider/leases.ts'
import { LOCKED_EXIT_CODE, type ReachedProvider, readProviderNote } from '../provider/note.ts'
import type { ImitatedAwsConnection } from './host.ts'

/** An imitated AWS in a separate process. */
interface AwsProcessOptions {
  /** directory of the imitated AWS's state; a process that runs for this directory already is used */
  directory: string
  /** 0: any port, preferably the port of the last run */
  port?: number
  region: string
}

const PROVIDER_START_TIMEOUT_MS = 60_000
const PROVIDER_START_PAUSE_MS = 20

/**
 * Returns the imitated AWS of a directory: the running process, or a new process. The process of the imitated AWS
 * outlives its starter, and no host kills it. The process ends after the last host that uses it has ended, even if
 * that host was killed.
 * @throws Error if the process does not start, with advice
 */
export async function startImitatedAwsProcess({
  directory,
  port = 0,
  region,
}: AwsProcessOptions): Promise<ImitatedAwsConnection> {
  makeDirectoryPrivate(directory)
  const end = Date.now() + PROVIDER_START_TIMEOUT_MS
  while (Date.now() < end) {
    const note = readProviderNote(directory)
    const { url = '', pid } = note ?? {}
    // without a process that holds the lock, another program may have the port and never answer
    const lease =
      note && isDirectoryLockHeld(directory, 'aws')
        ? await acquireProviderLease(url, note.control_token, directory)
        : undefined
    if (note && lease) return used(note, lease, port)
    await checkPortsAreFree({ 'provider-port': port })
    const chosen =
      port || (await chooseFreePort(url === '' ? 0 : Number(new URL(url).port))) || (await findSteadyPort())
    const fault = await launched(directory, chosen, region)
    if (fault !== undefined && fault !== LOCKED_EXIT_CODE)
      throw new Error(
        `the imitated AWS of ${directory} does not start${pid ? '' : ' for the first time'}: see ${logOf(directory)}`,
      )
    // the process that holds the directory has not reported its address yet, or is about to end
    if (fault === LOCKED_EXIT_CODE) await setTimeout(PROVIDER_START_PAUSE_MS)
  }
  const { pid } = readProviderNote(directory) ?? {}
  throw new Error(`the imitated AWS of ${directory} does not answer. End its process ${pid}, and start again`)
}

/** Uses a running imitated AWS. If that process counts its users, this process becomes a user. */
export async function connectToImitatedAws({
  url,
  control_token: token,
}: ReachedProvider): Promise<ImitatedAwsConnection> {
  const lease = await acquireProviderLease(url, token)
  return {
    url,
    controlToken: token,
    control: createRemoteControl(url, token),
    close: async () => lease?.close(),
  }
}

async function used(
  { url, control_token: token }: ReachedProvider,
  lease: ProviderLease,
  port: number,
): Promise<ImitatedAwsConnection> {
  if (port === 0 || Number(new URL(url).port) === port)
    return { url, controlToken: token, control: createRemoteControl(url, token), close: lease.close }
  await lease.close()
  throw new Error(`the imitated AWS runs already at ${url}; leave out --provider-port`)
}

const logOf = (directory: string): string => `${directory}/aws.log`

/** Starts the process of the imitated AWS. @returns its exit code if the process ended instead */
async function launched(directory: string, port: number, region: string): Promise<number | undefined> {
  const log = openSync(logOf(directory), 'a')
  const options = ['--directory', directory, '--port', String(port), '--region', region]
  const child = spawn(
    process.execPath,
    [...FLAGS, `${checkoutRoot}infra/local/provider/main.ts`, ...options],
    {
      // Ctrl-C in a terminal must not end the process, because other hosts may need it
      detached: true,
      stdio: ['ignore', 'pipe', log],
      env: { ...process.env, NODE_COMPILE_CACHE: `${checkoutRoot}.build/compile-cache` },
    },
  )
  closeSync(log)
  const fault = await faultOf(child)
  child.stdout?.destroy()
  child.unref()
  return fault
}

/** Node flags that keep the heap of the imitated AWS small. */
const FLAGS = ['--max-semi-space-size=2', '--max-old-space-size=256']

/** Waits until the process prints its address. @returns its exit code if the process ended instead */
async function faultOf(child: ChildProcess): Promise<number | undefined> {
  const said = child.stdout ? once(child.stdout, 'data').then(() => undefined) : undefined
  const ended = once(child, 'exit').then(([code]) => Number(code ?? -1))
  return Promise.race([...(said ? [said] : []), ended])
}
