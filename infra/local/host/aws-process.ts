import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { root } from '../../checkout.ts'
import { privateDirectory } from '../os/cluster-file.ts'
import { isLockHeld } from '../os/lock.ts'
import { checkPorts, firstFree, steadyPort } from '../os/loopback.ts'
import { remoteControl } from '../provider/control.ts'
import { type Lease, leaseOf } from '../provider/leases.ts'
import { providerNote, type ReachedProvider, TAKEN } from '../provider/note.ts'
import type { Aws } from './host.ts'

/** An imitated AWS as a process of its own. */
interface Wanted {
  /** where it keeps its state; one that runs there already is used */
  directory: string
  /** 0: any, the one of its last run if it is free */
  port?: number
  region: string
}

const PROVIDER_START_TIMEOUT_MS = 60_000
const PROVIDER_START_PAUSE_MS = 20

/**
 * The imitated AWS of a directory: the one that runs, or a new process. It belongs to nobody: it outlives whoever
 * started it, is killed with no host, and ends when the last one that needs it has ended, be it that it was killed.
 * @throws Error where it does not start, with what to do
 */
export async function awsProcess({ directory, port = 0, region }: Wanted): Promise<Aws> {
  privateDirectory(directory)
  const end = Date.now() + PROVIDER_START_TIMEOUT_MS
  while (Date.now() < end) {
    const note = providerNote(directory)
    const { url = '', pid } = note ?? {}
    // without a process that holds the directory, the port may be another program's by now, which may never answer
    const lease =
      note && isLockHeld(directory, 'aws') ? await leaseOf(url, note.control_token, directory) : undefined
    if (note && lease) return used(note, lease, port)
    await checkPorts({ 'provider-port': port })
    const chosen =
      port || (await firstFree(url === '' ? 0 : Number(new URL(url).port))) || (await steadyPort())
    const fault = await launched(directory, chosen, region)
    if (fault !== undefined && fault !== TAKEN)
      throw new Error(
        `the imitated AWS of ${directory} does not start${pid ? '' : ' for the first time'}: see ${logOf(directory)}`,
      )
    // whoever has the directory has not said yet where it is, or is about to end
    if (fault === TAKEN) await setTimeout(PROVIDER_START_PAUSE_MS)
  }
  const { pid } = providerNote(directory) ?? {}
  throw new Error(
    `the imitated AWS of ${directory} does not answer: end its process, ${pid}, and start again`,
  )
}

/** An imitated AWS that runs already; where it counts who needs it, this process does. */
export async function awsAt({ url, control_token: token }: ReachedProvider): Promise<Aws> {
  const lease = await leaseOf(url, token)
  return { url, controlToken: token, control: remoteControl(url, token), close: async () => lease?.close() }
}

async function used(
  { url, control_token: token }: ReachedProvider,
  lease: Lease,
  port: number,
): Promise<Aws> {
  if (port === 0 || Number(new URL(url).port) === port)
    return { url, controlToken: token, control: remoteControl(url, token), close: lease.close }
  await lease.close()
  throw new Error(`the imitated AWS runs already, at ${url}: leave out --provider-port`)
}

const logOf = (directory: string): string => `${directory}/aws.log`

/** Starts the process. @returns how it ended instead */
async function launched(directory: string, port: number, region: string): Promise<number | undefined> {
  const log = openSync(logOf(directory), 'a')
  const options = ['--directory', directory, '--port', String(port), '--region', region]
  const child = spawn(process.execPath, [...FLAGS, `${root}infra/local/provider/main.ts`, ...options], {
    // signals of a terminal are not for it: it is needed until the last host has ended
    detached: true,
    stdio: ['ignore', 'pipe', log],
    env: { ...process.env, NODE_COMPILE_CACHE: `${root}.build/compile-cache` },
  })
  closeSync(log)
  const fault = await faultOf(child)
  child.stdout?.destroy()
  child.unref()
  return fault
}

/** Its heap stays small. */
const FLAGS = ['--max-semi-space-size=2', '--max-old-space-size=256']

/** Waits until it says where it is. @returns the code with which it ended instead */
async function faultOf(child: ChildProcess): Promise<number | undefined> {
  const said = child.stdout ? once(child.stdout, 'data').then(() => undefined) : undefined
  const ended = once(child, 'exit').then(([code]) => Number(code ?? -1))
  return Promise.race([...(said ? [said] : []), ended])
}
