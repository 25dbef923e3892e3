import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { root } from '../../checkout.ts'
import { startAwsProcess } from '../host/aws-process.ts'
import type { Aws } from '../host/host.ts'
import { type ClusterPlace, CONTROL_TOKEN, type LastingOptions, readLastPlace } from '../host/lasting-host.ts'
import { clusterDirectory } from '../os/cluster-file.ts'
import { findSteadyPort, freeOrAny } from '../os/loopback.ts'
import { makeTemporaryDirectory, removeAtExit } from '../os/temporary.ts'
import { HOME } from '../provider/home.ts'
import type { FromMember, Started, ToMember } from './member.ts'
import { type ClusterPair, type PairMember, REGIONS } from './pair.ts'

type Name = 'east' | 'west'

export type ProcessOptions = Omit<
  LastingOptions,
  'cluster' | 'place' | 'onLine' | 'onKeys' | 'providerPort' | 'pairPid'
> & {
  port?: number
}

/** A pair whose clusters can be killed separately. */
export interface PairProcesses extends ClusterPair {
  /** resolves when a process ends unexpectedly, with its exit code or signal */
  ended(name: Name): Promise<string>
  /** kills both at once */
  kill(): void
}

const FIRST_PORT = 8200

/** Starts both clusters and one imitated AWS, each in its own process. @throws Error */
export async function startPairProcesses(options: ProcessOptions): Promise<PairProcesses> {
  const { port, ...rest } = options
  const { memory } = rest
  const name = awsName()
  const directory = memory ? makeTemporaryDirectory() : clusterDirectory(name)
  const forget = memory ? removeAtExit(directory) : () => undefined
  const aws = await startAwsProcess({ directory, region: HOME.region })
  const ports = await portsOf(port, memory)
  const began = (own: Name, peer: Name) =>
    launch(aws, {
      ...rest,
      cluster: own,
      pairPid: process.pid,
      place: {
        port: ports[own],
        region: REGIONS[own],
        peer: `http://127.0.0.1:${ports[peer]}`,
        ...(memory ? { provider: aws.url } : { aws: name }),
      },
    })
  const children = { east: began('east', 'west'), west: began('west', 'east') }
  const close = async () => {
    await Promise.all(Object.values(children).map(end))
    await aws.close()
    forget()
  }
  try {
    const [east, west] = await Promise.all([memberOf(children.east, aws), memberOf(children.west, aws)])
    followKeys(children.east, east, west)
    followKeys(children.west, west, east)
    const kill = () => {
      for (const child of Object.values(children)) child.kill('SIGTERM')
    }
    return { east, west, close, kill, ended: which => untold(children[which]) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Returns the directory of the pair's imitated AWS. A pair that grew from a single east uses east's. */
const awsName = (): string =>
  readLastPlace('east').aws ?? (existsSync(`${clusterDirectory('east')}/provider.json`) ? 'east' : 'aws')

async function portsOf(port: number | undefined, memory: boolean): Promise<Record<Name, number>> {
  const some = async (name: Name, wanted: number | undefined, otherwise: number): Promise<number> => {
    const kept = memory ? undefined : readLastPlace(name).port
    return (wanted ?? kept ?? otherwise) || (await freeOrAny(kept ?? 0)) || findSteadyPort()
  }
  const east = await some('east', port, FIRST_PORT)
  return { east, west: await some('west', port && port + 1, port === undefined ? east + 1 : 0) }
}

/** Starts a process that Ctrl-C in a terminal does not reach; the pair ends it. */
function launch(
  { controlToken }: Aws,
  options: LastingOptions & { place: Partial<ClusterPlace> },
): ChildProcess {
  const flags = process.execArgv.filter(one => one.startsWith('--'))
  return spawn(process.execPath, [...flags, `${root}infra/local/pair/member.mjs`, JSON.stringify(options)], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // passed as a variable, because all users can see command lines
    env: { ...process.env, [CONTROL_TOKEN]: controlToken },
  })
}

/**
 * Returns the cluster of a process once it has started. @throws Error if it ends instead; it has printed the reason
 */
async function memberOf(child: ChildProcess, { control }: Aws): Promise<PairMember> {
  const ended = once(child, 'exit').then(() => undefined)
  const started = new Promise<Started>(resolve =>
    child.on('message', (message: FromMember) => message.kind === 'started' && resolve(message.started)),
  )
  const file = await Promise.race([started, ended])
  if (!file) throw new Error('the pair does not start')
  return {
    ...file,
    control,
    adoptKeys: async adopt => {
      const adopted = once(child, 'message')
      const failed = new Promise(resolve =>
        child.send({ adopt } satisfies ToMember, error => error && resolve(undefined)),
      )
      await Promise.race([adopted, failed, ended])
    },
  }
}

/**
 * Adopts the keys that a member reports. New shares are also sent to the other member, which reports them once it
 * accepts them.
 */
function followKeys(child: ChildProcess, member: PairMember, other: PairMember): void {
  child.on('message', (message: FromMember) => {
    if (message.kind !== 'keys') return
    const { recovery_keys } = message.keys
    const isNew = recovery_keys.join() !== member.recovery_keys.join()
    Object.assign(member, message.keys)
    if (isNew) void other.adoptKeys({ root_token: other.root_token, recovery_keys })
  })
}

/** Waits for an unexpected end of a process. @returns its signal or exit code */
async function untold(child: ChildProcess): Promise<string> {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? await once(child, 'exit')
      : [child.exitCode, child.signalCode]
  return String(signal ?? `code ${code}`)
}

/** Ends a process. It closes its cluster when the connection to this process ends. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  await ended
}
