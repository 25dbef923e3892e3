import { copyFileSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { defineAttemptWorkflow } from '../../../infra/constructs/attempt-definition.ts'
import { defineWorkflow } from '../../../infra/constructs/workflow-definition.ts'
import { makeTemporaryDirectory } from '../../../infra/local/os/temporary.ts'
import { AwsError } from '../../../infra/local/provider/wire/errors.ts'
import { type StateMachines, startStateMachines } from '../../../infra/local/states/machines.ts'
import { openStateStore, type StateStore } from '../../../infra/local/states/store.ts'
import { FunctionFault } from '../../../infra/local/states/task.ts'
import { ATTEMPT_WORKFLOW } from '../../../shared/ceremony/watch.ts'
import { FINAL_ERROR_NAME, workflowDefinitions } from '../../../shared/workers/workflows.ts'
import { PREFIX, stillTime, until } from './support.ts'

// A killed host leaves the file of its state machines as it was at the moment of its death. These tests copy
// the file after every write of an execution, and continue with each copy.

const arns = { invoke: 'arn:aws:states:::lambda:invoke', worker: 'arn:aws:lambda:x:1:function:worker' }
const ID = 'op-1'

/** The effects of steps, which outlive the host. */
interface Outer {
  /** steps that took effect, in their order */
  done: readonly string[]
  /** shares that an attempt has */
  shares: number
}

interface Order {
  step: string
  token?: string
}

type Work = (order: Order, outer: Outer, machines: () => StateMachines) => unknown

interface Copy {
  file: string
  outer: Outer
  /** epoch milliseconds */
  at: number
}

/**
 * Copies the file after each write, with the effects of steps so far. A copy equals the file that a killed
 * host leaves.
 */
function copying(store: StateStore, file: string, moment: () => Omit<Copy, 'file'>) {
  const copies: Copy[] = []
  const reader = new DatabaseSync(file)
  let depth = 0
  /** a killed process leaves no state from between the writes of one `together` */
  const copied =
    <F extends (...given: never[]) => unknown>(write: F) =>
    (...given: Parameters<F>) => {
      depth += 1
      const result = write(...given)
      depth -= 1
      if (depth > 0) return result as ReturnType<F>
      const to = `${file}.${copies.length}`
      reader.exec(`VACUUM INTO '${to}'`)
      copies.push({ file: to, ...moment() })
      return result as ReturnType<F>
    }
  const { add, end, putPlace, putTask, dropTask, record, together } = store
  const watched: StateStore = {
    ...store,
    add: copied(add),
    end: copied(end),
    putPlace: copied(putPlace),
    putTask: copied(putTask),
    dropTask: copied(dropTask),
    record: copied(record),
    together: copied(together) as typeof together,
    close: () => {
      reader.close()
      store.close()
    },
  }
  return { watched, copies }
}

/** Starts a machine over a file, in a world where steps may already have taken effect. */
function host(
  store: StateStore,
  definition: object,
  work: Work,
  { outer, at }: Omit<Copy, 'file'> = { outer: { done: [], shares: 0 }, at: Date.UTC(2026, 0, 1) },
) {
  const world = { now: outer }
  const orders: string[] = []
  const time = stillTime(at)
  const machines: StateMachines = startStateMachines({
    store,
    time,
    definitions: new Map([[`${PREFIX}m`, definition]]),
    invoke: async (_, event) => {
      const order = event as Order
      orders.push(order.step)
      // the step takes effect even when its answer is lost
      if (!world.now.done.includes(order.step))
        world.now = { ...world.now, done: [...world.now.done, order.step] }
      return (await work(order, world.now, () => machines)) ?? { next: 'done' }
    },
  })
  /** advances the clock through all waits of the execution */
  const ended = async () => {
    const arn = `${PREFIX.replace('stateMachine', 'execution')}m:${ID}`
    await until(() => {
      if (machines.store.find(arn)?.status !== 'RUNNING') return true
      time.pass(10)
      return false
    })
    return machines.store.find(arn)
  }
  return { machines, world, orders, time, ended }
}

interface Scene {
  definition: object
  work: Work
  status: 'SUCCEEDED' | 'FAILED'
  /** effects of steps at the end */
  done: readonly string[]
  /** minimum seconds that the scene takes */
  takes?: number
}

const nothing: Work = () => undefined
const stepsOf = (name: keyof typeof workflowDefinitions) =>
  workflowDefinitions[name].steps.flatMap(step => (typeof step === 'string' ? [step] : []))

const whole = (name: keyof typeof workflowDefinitions, takes = 0): [string, Scene] => [
  name,
  {
    definition: defineWorkflow(name, workflowDefinitions[name], arns),
    work: nothing,
    takes,
    status: 'SUCCEEDED',
    done: stepsOf(name),
  },
]

const refused: Scene = {
  definition: defineWorkflow('promotion', workflowDefinitions.promotion, arns),
  work: ({ step }) => {
    if (step === 'drain') throw new FunctionFault(FINAL_ERROR_NAME, 'refused')
  },
  status: 'FAILED',
  done: ['verify', 'handover', 'drain', 'failed'],
}

/** An attempt that gets a share and then ends. The answers come at once. */
const attempt: Scene = {
  definition: defineAttemptWorkflow(arns),
  work: ({ token = '' }, outer, machines) => {
    const outcome = outer.shares === 0 ? 'share' : 'completed'
    outer.shares += 1
    queueMicrotask(() => {
      try {
        machines().answer(token, { kind: 'succeeded', output: { outcome } })
      } catch (error) {
        // an answer before the end of the host counts
        if (!(error instanceof AwsError)) throw error
      }
    })
    return null
  },
  status: 'SUCCEEDED',
  done: ['watch'],
}

test.each<[string, Scene]>([
  whole('activation', 30),
  whole('promotion'),
  whole('demotion'),
  whole('update-primary'),
  ['a refused promotion', refused],
  [ATTEMPT_WORKFLOW, attempt],
])(
  'an execution killed at any moment continues at its last state and ends once: %s',
  { timeout: 120_000 },
  async (_, scene) => {
    const { definition, work, status, done, takes = 0 } = scene
    const directory = makeTemporaryDirectory()
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const file = `${directory}/states.sqlite`
    const { watched, copies } = copying(openStateStore(file), file, () => ({
      outer: { ...first.world.now },
      at: first.time.now(),
    }))
    const first = host(watched, definition, work)
    const began = first.time.now()
    first.machines.start(`${PREFIX}m`, ID, JSON.stringify({ operation: ID }))
    expect(await first.ended()).toMatchObject({ status })
    await first.machines.close()
    expect(copies.length).toBeGreaterThan(done.length * 3)

    for (const [index, copy] of copies.entries()) {
      // a function may have done the requested step before the host died
      const after = copies[index + 1]?.outer ?? copy.outer
      for (const outer of after.done.length > copy.outer.done.length ? [copy.outer, after] : [copy.outer]) {
        const own = `${copy.file}-${outer.done.length}`
        copyFileSync(copy.file, own)
        const next = host(openStateStore(own), definition, work, { ...copy, outer: { ...outer } })
        const execution = await next.ended()
        expect(execution, `copy ${index}`).toMatchObject({ status })
        expect(next.world.now.done).toEqual(done)
        // no earlier step is repeated
        const behind = copy.outer.done.slice(0, -1)
        expect(behind.filter(step => next.orders.includes(step) && scene !== attempt)).toEqual([])
        expect((execution?.stopped ?? 0) - began).toBeGreaterThanOrEqual(takes * 1000)
        const ends = next.machines.store
          .history(execution?.arn ?? '')
          .filter(({ type }) => /^Execution(?!Started)/.test(type))
        expect(ends).toHaveLength(1)
        await next.machines.close()
      }
    }
  },
)
