import { endProcessOnSignals } from '../../os/ending.ts'
import { readDrStatus } from '../../pair/dr-client.ts'
import { joinLocalPair, waitUntilPairSettled } from '../../pair/pair.ts'
import { type PairProcesses, type PairProcessOptions, startPairProcesses } from '../../pair/processes.ts'
import { formatPairStatus } from '../../pair/stand.ts'
import { formatPairAddresses, formatPairCommands } from '../../pair/text.ts'
import { withCountdown } from '../../pair/waiting.ts'
import { demonstrateLogins } from './demonstration.ts'

type RunOptions = PairProcessOptions & {
  /** the command ends after the demonstration */
  once: boolean
}

/**
 * Runs two clusters, each in its own process. Makes one cluster follow the other whatever their earlier
 * state, logs workloads in on the primary, and shows that the secondary has the same data. A killed cluster
 * stays down until somebody starts it.
 * @param print receives output for the user
 */
export async function runLocalPair(
  { once, ...options }: RunOptions,
  print: (text: string) => void,
): Promise<void> {
  const ending = endProcessOnSignals()
  const what = 'the host bundles the functions, then starts both clusters'
  const pair = await withCountdown(print, what, 30, () => startPairProcesses(options))
  const over = new AbortController()
  const close = () => {
    over.abort()
    return pair.close()
  }
  ending.runs({ close, kill: pair.kill })
  const left = bothEnded(pair, over.signal, print)
  try {
    await Promise.race([shown(pair, once, print), left])
    if (!once) print('Serving. Stop both with Ctrl-C.')
    if (!once) await left
  } finally {
    await close()
  }
}

/**
 * Demonstrates the pair. @throws Error if the demonstration fails and the command should end after the
 * demonstration
 */
async function shown(pair: PairProcesses, once: boolean, print: (text: string) => void): Promise<void> {
  try {
    await showOnce(pair, once, print)
  } catch (error) {
    if (once) throw error
    print(`The demonstration failed: ${error instanceof Error ? error.message : error}\n`)
  }
}

async function showOnce(pair: PairProcesses, once: boolean, print: (text: string) => void): Promise<void> {
  const joined = await joinLocalPair(pair, print)
  if (!joined) {
    const { east, west } = pair
    print(formatPairStatus({ east: await readDrStatus(east), west: await readDrStatus(west) }))
    print(formatPairCommands({ primary: east, secondary: west }))
    if (once) throw new Error('neither cluster follows the other')
    return
  }
  const { primary, secondary } = joined
  print(formatPairAddresses(joined))
  for (const { type, role } of await demonstrateLogins(primary, () => ({})))
    print(`${type} login on ${primary.cluster}: a token for role ${role}`)
  print('')
  const both = { [primary.cluster]: primary, [secondary.cluster]: secondary }
  const what = 'both clusters reach the same journal position and tree root'
  print(formatPairStatus(await withCountdown(print, what, 15, () => waitUntilPairSettled(both))))
  print(formatPairCommands(joined))
}

/** Reports each cluster that ends unexpectedly. @throws Error once both clusters have ended */
async function bothEnded(
  pair: PairProcesses,
  over: AbortSignal,
  print: (text: string) => void,
): Promise<never> {
  const names = ['east', 'west'] as const
  const ends = names.map(async (name, index) => {
    const how = await pair.ended(name)
    if (over.aborted) return
    const other = names[1 - index]
    print(
      `${name} has ended (${how}). ${other} goes on. To have ${name} again: npm start -- --cluster ${name}`,
    )
  })
  await Promise.all(ends)
  // the caller awaits the end of a cluster that it ends itself
  if (over.aborted) return new Promise(() => undefined)
  throw new Error('both clusters have ended')
}
