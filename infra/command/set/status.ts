import { setTimeout } from 'node:timers/promises'
import type { ObservedCluster } from '../../../shared/set/status.ts'
import type { Connection } from '../connection.ts'
import type { ExitName } from '../ended.ts'
import { lookAtNamed, type NamedCluster } from './look.ts'
import { describedSet, shownSet } from './shown.ts'

interface StatusPorts {
  connection: Connection
  json: boolean
  /** seconds between two looks; absent: one look is enough */
  every?: number
  /** clears a terminal, where the next look takes the place of the one before */
  clear(): void
  print(text: string): void
  /** aborted: no look follows */
  signal: AbortSignal
}

/** Looks at clusters, once or again and again. @returns what the last look came to */
export async function tellStatus(clusters: readonly NamedCluster[], ports: StatusPorts): Promise<ExitName> {
  const { connection, json, every, clear, print, signal } = ports
  let seen: readonly ObservedCluster[] = []
  for (;;) {
    const before = seen
    seen = await Promise.all(clusters.map((one, index) => lookAtNamed(one, connection, before[index])))
    const shown = shownSet(seen, clusters, Date.now())
    if (json) print(`${JSON.stringify(shown, null, every === undefined ? 2 : 0)}\n`)
    else {
      if (every !== undefined) clear()
      print(describedSet(shown))
    }
    if (every === undefined || signal.aborted) return shown.verdict
    await setTimeout(every * 1000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return shown.verdict
  }
}
