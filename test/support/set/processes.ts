import { AsyncLocalStorage } from 'node:async_hooks'
import { Crash } from '../tables/crash.ts'
import type { Process } from './traps.ts'

/** The running processes, and background work. */
export function newProcesses() {
  const context = new AsyncLocalStorage<Process>()
  const outside: Process = { id: 0, cluster: '', name: 'test', frozenUntil: 0 }
  let ids = 0
  const alive = new Map<Process, (error: Error) => void>()
  const background = new Set<Promise<unknown>>()

  function die(process: Process, why: string): void {
    process.dead ??= new Crash(why)
    alive.get(process)?.(process.dead)
  }

  return {
    die,
    /** the current process */
    self: (): Process => context.getStore() ?? outside,
    /**
     * Runs a process. @throws Crash as soon as the process has died, although parts of its work may still run
     */
    run: <T>(cluster: string, name: string, work: () => Promise<T>): Promise<T> => {
      ids += 1
      const process: Process = { id: ids, cluster, name, frozenUntil: 0 }
      return new Promise<T>((resolve, reject) => {
        alive.set(process, reject)
        context
          .run(process, work)
          .then(resolve, reject)
          .finally(() => alive.delete(process))
      })
    },
    /** Runs background work. */
    start: (work: () => Promise<unknown>): void => {
      const one: Promise<unknown> = context
        .run(outside, work)
        .catch(() => undefined)
        .finally(() => background.delete(one))
      background.add(one)
    },
    /** waits until no background work runs */
    settled: async (): Promise<void> => {
      while (background.size > 0) await Promise.all(background)
    },
    /** all processes of a cluster die at once */
    kill: (cluster: string): void => {
      for (const process of [...alive.keys()])
        if (process.cluster === cluster) die(process, `${cluster} is killed`)
    },
  }
}
