import { demonstrate } from './demonstration.ts'
import { join, type PairOptions, settled, startPair } from './pair.ts'
import { commandsToCopy, describedStands, introducedPair } from './pair-text.ts'

interface RunOptions extends PairOptions {
  /** end after the proof */
  once: boolean
}

/**
 * Runs two clusters: joins them, lets workloads log in on the primary, and shows that the secondary has it all.
 * @param print told what is to be read
 */
export async function runPair(
  { once, ...options }: RunOptions,
  print: (text: string) => void,
): Promise<void> {
  const pair = await startPair(options)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => endWith(pair))
  }
  try {
    await join(pair, print)
    print(introducedPair(pair))
    for (const { type, role } of await demonstrate(pair.east, () => ({})))
      print(`${type} login on east: a token for role ${role}`)
    print('')
    print(describedStands(await settled(pair)))
    print(commandsToCopy(pair))
  } catch (error) {
    await pair.close()
    throw error
  }
  if (once) return pair.close()
  print('Serving. Stop both with Ctrl-C.')
}

/** Ends this process with what it runs: with 1 where that could not be ended as it should. */
export function endWith(running: { close(): Promise<void> }): void {
  running.close().then(
    () => process.exit(0),
    error => {
      process.stderr.write(`${error}\n`)
      process.exit(1)
    },
  )
}
