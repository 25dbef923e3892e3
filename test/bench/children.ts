import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10

/**
 * Returns the processor time of this process's children in milliseconds. The only child of a host is its
 * engine.
 */
export function childrenMs(): number {
  let ticks = 0
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
      if (Number(fields[1]) === process.pid) ticks += Number(fields[11]) + Number(fields[12])
    } catch {
      // the process has already ended
    }
  }
  return ticks * TICK_MS
}
