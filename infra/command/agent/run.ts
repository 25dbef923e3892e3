import { readApiConnection } from '../connection.ts'
import { CommandEnded, type ExitName } from '../ended.ts'
import { checkLoginOptions } from '../login/proofs.ts'
import type { ParsedCommand } from '../options.ts'
import type { CommandPorts } from '../ports.ts'
import { type NamedCluster, parseNamedCluster } from '../set/look.ts'
import { createAgent } from './agent.ts'
import { createAgentChild, readSignal } from './child.ts'
import { acquireAgentLock } from './lock.ts'
import { checkTokenPlace, readTokenPlace, removeLeftFile } from './token-file.ts'

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * Runs `cloud-auth agent` until a signal or the end of its child.
 * @returns the child's exit code
 * @throws CommandEnded
 */
export async function runAgent(read: ParsedCommand, ports: CommandPorts): Promise<ExitName | number> {
  const { clusters, login, everyMs, place, onNewToken } = readAgentOptions(read, ports)
  const { environment, say } = ports
  if (place) checkTokenPlace(place)
  const lock = place && acquireAgentLock(place)
  const ending = new AbortController()
  let ended: number | CommandEnded | undefined
  let received: NodeJS.Signals | undefined
  const child =
    read.words.length === 0
      ? undefined
      : createAgentChild(read.words, {
          environment,
          ...(onNewToken ? { onNewToken } : {}),
          onEnd: end => {
            ended = end
            ending.abort()
          },
        })
  for (const signal of SIGNALS)
    process.on(signal, () => {
      received ??= signal
      ending.abort()
    })
  try {
    if (place) removeLeftFile(place)
    const agent = createAgent({
      clusters,
      login,
      environment,
      connection: readApiConnection(environment, read.values.namespace),
      everyMs,
      ...(place && lock ? { output: { place, lock } } : {}),
      ...(child ? { child } : {}),
      say,
    })
    await agent.run(ending.signal)
    const code = received && (await child?.stop(received))
    if (read.flags.has('revoke')) await agent.revoke()
    if (ended instanceof CommandEnded) throw ended
    return ended ?? code ?? 'done'
  } finally {
    await child?.stop('SIGTERM')
    lock?.release()
  }
}

function readAgentOptions({ values, words }: ParsedCommand, { environment }: CommandPorts) {
  const { file, every, 'on-new-token': signal } = values
  if (file === undefined && words.length === 0)
    throw new CommandEnded('usage', 'agent needs --file FILE, or a program after --, or both')
  if (signal !== undefined && (file === undefined || words.length === 0))
    throw new CommandEnded('usage', '--on-new-token needs a program, and --file for the new token')
  const seconds = Number(every ?? 10)
  if (!(seconds >= 0.1 && seconds <= 86_400))
    throw new CommandEnded('usage', '--every must be a number of seconds, at least 0.1')
  return {
    clusters: readAgentClusters(environment['CLOUD_AUTH_CLUSTERS']),
    login: checkLoginOptions('', values, environment),
    everyMs: seconds * 1000,
    ...(file === undefined ? {} : { place: readTokenPlace(file) }),
    ...(signal === undefined ? {} : { onNewToken: readSignal(signal) }),
  }
}

function readAgentClusters(text = ''): readonly NamedCluster[] {
  const named = text.split(/\s+/).filter(Boolean)
  if (named.length === 0)
    throw new CommandEnded('usage', 'agent needs the addresses of its clusters in CLOUD_AUTH_CLUSTERS')
  return named.map(parseNamedCluster)
}
