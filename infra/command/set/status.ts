import { setTimeout } from 'node:timers/promises'
import type { ObservedCluster } from '../../../shared/set/status.ts'
import type { ApiConnection } from '../connection.ts'
import type { ExitName } from '../ended.ts'
import { paintLines, type TerminalText } from '../output.ts'
import { type NamedCluster, observeNamedCluster } from './look.ts'
import { formatSet, summariseSet } from './shown.ts'

interface StatusPorts {
  connection: ApiConnection
  json: boolean
  /** seconds between two observations; absent: one observation only */
  every?: number
  /** clears the terminal before the next observation */
  clear(): void
  print(text: TerminalText): void
  /** aborted: stops after the current observation */
  signal: AbortSignal
}

/**
 * Observes clusters once or repeatedly, and prints their state. @returns the verdict of the last observation
 */
export async function printSetStatus(
  clusters: readonly NamedCluster[],
  ports: StatusPorts,
): Promise<ExitName> {
  const { connection, json, every, clear, print, signal } = ports
  let seen: readonly ObservedCluster[] = []
  for (;;) {
    const before = seen
    seen = await Promise.all(
      clusters.map((one, index) => observeNamedCluster(one, connection, before[index])),
    )
    const shown = summariseSet(seen, clusters, Date.now())
    if (json) print(`${JSON.stringify(shown, null, every === undefined ? 2 : 0)}\n`)
    else {
      if (every !== undefined) clear()
      print(paintLines(formatSet(shown), { '! ': 'bad', 'All is well.': 'good' }))
    }
    if (every === undefined || signal.aborted) return shown.verdict
    await setTimeout(every * 1000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return shown.verdict
  }
}
