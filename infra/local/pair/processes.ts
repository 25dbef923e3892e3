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
import type { MessageToMember, StartedMember } from './member.ts'
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

/** The process of a cluster. `ended` resolves to its exit code or signal. */
interface MemberProcess {
  child: ChildProcess
  ended: Promise<string>
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
  const processes = { east: began('east', 'west'), west: began('west', 'east') }
  const close = async () => {
    await Promise.all(Object.values(processes).map(end))
    await aws.close()
    forget()
  }
  try {
    const [east, west] = await Promise.all([memberOf(processes.east, aws), memberOf(processes.west, aws)])
    followKeys(processes.east, east, west)
    followKeys(processes.west, west, east)
    const kill = () => {
      for (const { child } of Object.values(processes)) child.kill('SIGTERM')
    }
    return { east, west, close, kill, ended: which => processes[which].ended }
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
): MemberProcess {
  const flags = process.execArgv.filter(one => one.startsWith('--'))
  const child = spawn(
    process.execPath,
    [...flags, `${checkoutRoot}infra/local/pair/member.mjs`, JSON.stringify(options)],
    {
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // passes the control token as a variable, because all users can see command lines
      env: { ...process.env, [CONTROL_TOKEN_VARIABLE]: controlToken },
    },
  )
  return { child, ended: once(child, 'exit').then(([code, signal]) => String(signal ?? `code ${code}`)) }
}

/**
 * Returns the cluster of a process once the cluster has started. @throws Error if the process ends instead;
 * the process has printed the reason
 */
async function memberOf(
  { child, ended }: MemberProcess,
  { control }: ImitatedAwsConnection,
): Promise<PairMember> {
  const started = once(child, 'message') as Promise<[StartedMember]>
  const [file] = await Promise.race([started, ended.then(() => [])])
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
function followKeys({ child }: MemberProcess, member: PairMember, other: PairMember): void {
  child.on('message', ({ root_token, recovery_keys }: StartedMember) => {
    const isNew = recovery_keys.join() !== member.recovery_keys.join()
    Object.assign(member, { root_token, recovery_keys })
    if (isNew) void other.adoptKeys({ root_token: other.root_token, recovery_keys })
  })
}

/** Ends a process. The process closes its cluster when the connection to its parent ends. */
async function end({ child, ended }: MemberProcess): Promise<void> {
  if (child.connected) child.disconnect()
  await ended
}
