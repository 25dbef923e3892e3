import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import type { ClusterStateFile } from '../../../infra/local/os/cluster-file.ts'
import type { ExecutionPlace, StoredExecution } from '../../../infra/local/states/store.ts'
import { call, type Reply } from '../service/api.ts'
import { clusterFile, enginePid, folderOf, freshCluster, type Run, start } from './npm-start.ts'

/** Polling interval, shorter than any step of a workflow. */
const POLL_MS = 10

/** An execution of a host's state machines, with its current place. */
interface Stand {
  execution: StoredExecution
  place: ExecutionPlace | undefined
}

/** A cluster whose host runs in its own process, which is killed and started again. */
export type KilledHost = Awaited<ReturnType<typeof killedHost>>

/** @param ports options of the host with fixed ports, because other clusters know them */
export async function killedHost(name: string, ...ports: string[]) {
  const cluster = freshCluster(name)
  const begun = async (): Promise<Run> => {
    const one = start('--cluster', cluster, ...ports)
    await one.until('Serving.')
    return one
  }
  let run = await begun()
  const file = (): ClusterStateFile => clusterFile(cluster)

  /** executions of a workflow, newest first; empty while the host is still writing the file */
  function executions(workflow: string): Stand[] {
    const database = new DatabaseSync(`${folderOf(cluster)}/states.sqlite`, { timeout: 5000 })
    try {
      const sql =
        'SELECT e.data AS execution, p.data AS place FROM executions e LEFT JOIN current_places p ON p.execution = e.arn WHERE e.machine LIKE ? ORDER BY e.rowid DESC'
      return database
        .prepare(sql)
        .all(`%${workflow}`)
        .map(({ execution, place }) => ({
          execution: JSON.parse(String(execution)) as StoredExecution,
          place: place === null ? undefined : (JSON.parse(String(place)) as ExecutionPlace),
        }))
    } finally {
      database.close()
    }
  }

  /** Kills the host, or host and engine, and starts both again with the remaining files. */
  async function again({ engine = false } = {}): Promise<void> {
    const pid = enginePid(cluster)
    run.child.kill('SIGKILL')
    if (engine) process.kill(pid, 'SIGKILL')
    await run.ended
    run = await begun()
  }

  /**
   * Kills or pauses the host for so long that other clusters notice. @returns a function that brings the host
   * back
   */
  async function away(how: 'killed' | 'stopped'): Promise<() => Promise<void>> {
    if (how === 'stopped') {
      run.child.kill('SIGSTOP')
      const stopped = setTimeout(6000)
      return async () => {
        await stopped
        run.child.kill('SIGCONT')
      }
    }
    run.child.kill('SIGKILL')
    await run.ended
    return async () => {
      run = start('--cluster', cluster, ...ports)
      await run.until('Serving.')
    }
  }

  return {
    cluster,
    file,
    executions,
    again,
    away,
    request: (method: string, path: string, body?: unknown, token?: string): Promise<Reply> =>
      call(file().base_url, method, path, body, token === undefined ? {} : { token }),
    /** the folder with the events of the imitated AWS, if this host owns it */
    folder: folderOf(cluster),
  }
}

/** Repeats a probe until it returns a value. Only the time limit of the test ends the repetition. */
export async function eventually<T>(
  probe: () => Promise<T | undefined> | T | undefined,
  pause = 200,
): Promise<T> {
  for (;;) {
    const found = await probe()
    if (found !== undefined) return found
    await setTimeout(pause)
  }
}

/**
 * Starts a workflow. For each of some steps, kills the host as soon as the workflow has reached or passed the
 * step.
 * @returns the workflow's executions when no execution is running any more, and the states in which the host
 * was killed
 */
export async function killedAt(
  host: KilledHost,
  workflow: string,
  steps: readonly string[],
  act: () => Promise<unknown>,
  meanwhile: () => Promise<unknown> = async () => undefined,
): Promise<{ executions: StoredExecution[]; met: string[] }> {
  const before = host.executions(workflow).length
  const own = (): Stand[] => host.executions(workflow).slice(0, -before || undefined)
  // the client gets no answer from a killed host
  const acted = act().catch(() => undefined)
  const met: string[] = []
  for (const [index, step] of steps.entries()) {
    met.push(await eventually(() => passed(own()[0], step), POLL_MS))
    await host.again({ engine: index % 2 === 1 })
    await meanwhile()
  }
  await acted
  const executions = await eventually(() => {
    const all = own().map(({ execution }) => execution)
    return all.length > 0 && all.every(({ status }) => status !== 'RUNNING') ? all : undefined
  })
  return { executions, met }
}

/**
 * Returns the state of an execution that has reached or passed a step. Returns undefined for an execution
 * before the step.
 */
function passed(stand: Stand | undefined, step: string): string | undefined {
  if (!stand) return undefined
  const { execution, place } = stand
  if (execution.status !== 'RUNNING') return execution.status
  const { States } = JSON.parse(execution.definition) as { States: object }
  const names = Object.keys(States)
  return place && names.indexOf(place.state) >= names.indexOf(step) ? place.state : undefined
}
