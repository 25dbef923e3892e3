import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { checkoutRoot } from '../../checkout.ts'
import { startImitatedAwsProcess } from '../host/aws-process.ts'
import type { ImitatedAwsConnection } from '../host/host.ts'
import {
  CONTROL_TOKEN_VARIABLE,
  type LastingHostOptions,
  type LastingHostPlace,
  readLastHostPlace,
} from '../host/lasting-host.ts'
import { clusterDirectory } from '../os/cluster-file.ts'
import { chooseFreePort, findSteadyPort } from '../os/loopback.ts'
import { makeTemporaryDirectory, removeDirectoryAtExit } from '../os/temporary.ts'
import { HOME_ACCOUNT } from '../provider/home.ts'
import type { MessageFromMember, MessageToMember, StartedMember } from './member.ts'
import { type ClusterPair, PAIR_REGIONS, type PairMember } from './pair.ts'

type Name = 'east' | 'west'

export type PairProcessOptions = Omit<
  LastingHostOptions,
  'cluster' | 'place' | 'onLine' | 'onKeys' | 'providerPort' | 'pairPid'
> & {
  port?: number
}

/** A pair whose clusters can be killed separately. */
export interface PairProcesses extends ClusterPair {
  /** resolves when a process ends unexpectedly, with its exit code or signal */
  ended(name: Name): Promise<string>
  /** kills both processes at once */
  kill(): void
}

const FIRST_PORT = 8200

/** Starts both clusters and one imitated AWS, each in its own process. @throws Error */
export async function startPairProcesses(options: PairProcessOptions): Promise<PairProcesses> {
  const { port, ...rest } = options
  const { memory } = rest
  const name = awsName()
  const directory = memory ? makeTemporaryDirectory() : clusterDirectory(name)
  const forget = memory ? removeDirectoryAtExit(directory) : () => undefined
  const aws = await startImitatedAwsProcess({ directory, region: HOME_ACCOUNT.region })
  const ports = await portsOf(port, memory)
  const began = (own: Name, peer: Name) =>
    launch(aws, {
      ...rest,
      cluster: own,
      pairPid: process.pid,
      place: {
        port: ports[own],
        region: PAIR_REGIONS[own],
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

/**
 * Returns the directory of the pair's imitated AWS. A pair that grew from a single cluster east uses east's
 * directory.
 */
const awsName = (): string =>
  readLastHostPlace('east').aws ?? (existsSync(`${clusterDirectory('east')}/provider.json`) ? 'east' : 'aws')

async function portsOf(port: number | undefined, memory: boolean): Promise<Record<Name, number>> {
  const some = async (name: Name, wanted: number | undefined, otherwise: number): Promise<number> => {
    const kept = memory ? undefined : readLastHostPlace(name).port
    return (wanted ?? kept ?? otherwise) || (await chooseFreePort(kept ?? 0)) || findSteadyPort()
  }
  const east = await some('east', port, FIRST_PORT)
  return { east, west: await some('west', port && port + 1, port === undefined ? east + 1 : 0) }
}

/** Starts a process that Ctrl-C in a terminal does not reach; the pair ends the process. */
function launch(
  { controlToken }: ImitatedAwsConnection,
  options: LastingHostOptions & { place: Partial<LastingHostPlace> },
): ChildProcess {
  const flags = process.execArgv.filter(one => one.startsWith('--'))
  return spawn(
    process.execPath,
    [...flags, `${checkoutRoot}infra/local/pair/member.mjs`, JSON.stringify(options)],
    {
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // passes the control token as a variable, because all users can see command lines
      env: { ...process.env, [CONTROL_TOKEN_VARIABLE]: controlToken },
    },
  )
}

/**
 * Returns the cluster of a process once the cluster has started. @throws Error if the process ends instead;
 * the process has printed the reason
 */
async function memberOf(child: ChildProcess, { control }: ImitatedAwsConnection): Promise<PairMember> {
  const ended = once(child, 'exit').then(() => undefined)
  const started = new Promise<StartedMember>(resolve =>
    child.on(
      'message',
      (message: MessageFromMember) => message.kind === 'started' && resolve(message.started),
    ),
  )
  const file = await Promise.race([started, ended])
  if (!file) throw new Error('the pair does not start')
  return {
    ...file,
    control,
    adoptKeys: async adopt => {
      const adopted = once(child, 'message')
      const failed = new Promise(resolve =>
        child.send({ adopt } satisfies MessageToMember, error => error && resolve(undefined)),
      )
      await Promise.race([adopted, failed, ended])
    },
  }
}

/**
 * Adopts the keys that a cluster of the pair reports. New shares are also sent to the other cluster, which
 * reports them once it accepts them.
 */
function followKeys(child: ChildProcess, member: PairMember, other: PairMember): void {
  child.on('message', (message: MessageFromMember) => {
    if (message.kind !== 'keys') return
    const { recovery_keys } = message.keys
    const isNew = recovery_keys.join() !== member.recovery_keys.join()
    Object.assign(member, message.keys)
    if (isNew) void other.adoptKeys({ root_token: other.root_token, recovery_keys })
  })
}

/** Waits for an unexpected end of a process. @returns the process's signal or exit code */
async function untold(child: ChildProcess): Promise<string> {
  const [code, signal] =
    child.exitCode === null && child.signalCode === null
      ? await once(child, 'exit')
      : [child.exitCode, child.signalCode]
  return String(signal ?? `code ${code}`)
}

/** Ends a process. The process closes its cluster when the connection to its parent ends. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  if (child.connected) child.disconnect()
  await ended
}
