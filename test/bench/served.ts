import { type ChildProcess, fork } from 'node:child_process'
import { checkoutRoot } from '../../infra/checkout.ts'
import { HOST_FLAGS } from '../support/programs/npm-start.ts'
import type { LoadOrder, LoadResult } from './load.ts'
import type { CpuParts, Methods, Served, ServeOrder } from './serve.ts'

export type Load = (order: LoadOrder) => Promise<LoadResult>
export type Type = 'ec2' | 'iam'

/** The costs of logins: processor time of each part for one login, in milliseconds. */
export interface Measured extends LoadResult {
  cpu: CpuParts
  /** of the whole host */
  whole: number
}

/** A host in its own process, and the fleet that logs in to it. */
export interface ServedHost extends Served {
  ask<M extends keyof Methods>(
    method: M,
    argument?: Parameters<Methods[M]>[0],
  ): Promise<Awaited<ReturnType<Methods[M]>>>
  /** logs in as fast as it gets answers, and measures the costs */
  measure(load: Load, type: Type, concurrency: number, seconds: number): Promise<Measured>
  /** sends requests as fast as they are answered or refused; the costs are of an answered request, or of all requests if none was answered */
  measureRequests(load: Load, order: LoadOrder): Promise<Measured>
  close(): Promise<void>
}

/** Starts the host of a checkout. */
export async function servedHost(order: ServeOrder): Promise<ServedHost> {
  const child = fork(`${checkoutRoot}test/bench/serve.ts`, [], {
    execArgv: [...HOST_FLAGS],
  })
  const ask = await asking(child)
  const served = (await ask('start', order)) as Served
  const measureRequests = async (load: Load, order: LoadOrder): Promise<Measured> => {
    const before = (await ask('cpu')) as CpuParts
    const run = await load(order)
    const after = (await ask('cpu')) as CpuParts
    const each = (part: keyof CpuParts) => (after[part] - before[part]) / (run.answered || 1)
    const cpu = {
      main: each('main'),
      threads: each('threads'),
      helpers: each('helpers'),
      engine: each('engine'),
    }
    return { ...run, cpu, whole: cpu.main + cpu.threads + cpu.helpers + cpu.engine }
  }
  return {
    ...served,
    ask,
    measureRequests,
    measure: (load, type, concurrency, seconds) =>
      measureRequests(load, { url: served.url, bodies: served.bodies[type], concurrency, seconds }),
    close: async () => {
      await ask('close')
      child.kill()
    },
  }
}

interface Told {
  id: number
  result?: unknown
  error?: string
}

/**
 * Returns a function that calls methods of a process, once the process is ready. Calls of methods can
 * overlap.
 */
function asking(child: ChildProcess): Promise<(method: string, argument?: unknown) => Promise<never>> {
  const waiting = new Map<number, (told: Told) => void>()
  let asked = 0
  const ask = (method: string, argument?: unknown): Promise<never> =>
    new Promise((resolve, reject) => {
      asked += 1
      waiting.set(asked, ({ result, error }) =>
        error === undefined ? resolve(result as never) : reject(new Error(error)),
      )
      child.send({ id: asked, method, argument })
    })
  return new Promise((resolve, reject) => {
    child.on('message', (told: 'ready' | Told) => {
      if (told === 'ready') return resolve(ask)
      waiting.get(told.id)?.(told)
      waiting.delete(told.id)
    })
    child.once('exit', code => {
      const error = `a process of the bench ended with ${code}`
      reject(new Error(error))
      for (const [id, tell] of waiting) tell({ id, error })
    })
  })
}
