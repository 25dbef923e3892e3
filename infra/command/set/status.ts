import { setTimeout } from 'node:timers/promises'
import type { Connection } from '../connection.ts'
import type { ExitName } from '../ended.ts'
import { type ClusterSeen, lookAtCluster, type NamedCluster } from './look.ts'
import { describedSet, shownSet } from './shown.ts'
import { judgeSet } from './verdict.ts'

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
  let seen: readonly ClusterSeen[] = []
  for (;;) {
    const before = seen
    seen = await Promise.all(clusters.map((one, index) => lookAtCluster(one, connection, before[index])))
    const verdict = judgeSet(seen)
    const shown = shownSet(seen, verdict, Date.now())
    if (json) print(`${JSON.stringify(shown, null, every === undefined ? 2 : 0)}\n`)
    else {
      if (every !== undefined) clear()
      print(describedSet(shown))
    }
    if (every === undefined || signal.aborted) return verdict.exit
    await setTimeout(every * 1000, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return verdict.exit
  }
}
