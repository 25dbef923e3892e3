import { beforeAll, describe, expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { type WorkflowDefinition, workflowDefinitions } from '../../../../shared/workers/workflows.ts'
import { sized } from '../../../support/runner/size.ts'
import type { Reply } from '../../../support/service/api.ts'
import { chanceFrom } from '../../../support/set/chance.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Runs every step of every workflow with the ports of its function, while six writers write to the primary.
// Secondaries begin with staged entries that are not applied. No step may fail or be retried.

const DR = '/sys/replication/dr'
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }
const WRITERS = 6
const STAGED = 20
const PAUSE_MS = 1000
/** How often a role change runs. */
const ROUNDS = sized(1, 50)

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

const write = (name: string): Promise<Reply> =>
  set.at('east').request('POST', `/sys/policies/acl/${name}`, POLICY)

/**
 * Runs a number of workers, which repeat their work until stopped, and retry requests that a role change
 * refuses.
 */
function repeat(
  workers: number,
  work: (worker: number, time: number) => Promise<unknown>,
): () => Promise<unknown> {
  let isOver = false
  const repeated = async (worker: number) => {
    for (let time = 0; !isOver; time++) {
      await work(worker, time).catch(() => undefined)
      await set.clock.sleep(PAUSE_MS)
    }
  }
  const all = Promise.all(Array.from({ length: workers }, (_, worker) => repeated(worker)))
  return () => {
    isOver = true
    return all
  }
}

/** Lets west stage east's entries, and die before west applies any of them. */
async function stage(): Promise<void> {
  for (let n = 0; n < STAGED; n++) expect((await write(`staged-${n}`)).status).toBe(204)
  const applying = { cluster: 'west', process: 'on-pull', step: 'TransactWriteItems', at: 1 } as const
  const free = set.trap({ ...applying, when: 'before', does: 'dies' })
  await set
    .at('west')
    .pull()
    .catch(() => undefined)
  free()
  const { applied, last } = await set.at('west').head()
  expect(last - applied).toBeGreaterThanOrEqual(STAGED)
}

const activationToken = async (): Promise<string> => {
  const { body } = await set
    .at('east')
    .ok('POST', `${DR}/primary/secondary-token`, { id: `w${set.clock.now()}` })
  return body.wrap_info.token
}
const onWest = (call: string, body: object = {}): Promise<Reply> =>
  set.at('west').request('POST', `${DR}/secondary/${call}`, { dr_operation_token: from.operator, ...body })

/** A workflow, the request that begins it, and its cluster. */
interface Row {
  workflow: keyof typeof workflowDefinitions
  at: 'east' | 'west'
  /** west follows during the workflow, because the workflow waits for west */
  follows?: true
  /** whether the step belongs to a frequent role change */
  often?: true
  act: () => Promise<Reply>
}

const rows: Readonly<Record<string, Row>> = {
  'a planned promotion': { workflow: 'promotion', at: 'west', often: true, act: () => onWest('promote') },
  'a forced promotion': { workflow: 'promotion', at: 'west', act: () => onWest('promote', { force: true }) },
  'a demotion': {
    workflow: 'demotion',
    at: 'east',
    often: true,
    act: () => set.at('east').request('POST', `${DR}/primary/demote`),
  },
  'another primary by token': {
    workflow: 'update-primary',
    at: 'west',
    often: true,
    act: async () => onWest('update-primary', { token: await activationToken() }),
  },
  'another primary by address': {
    workflow: 'update-primary',
    at: 'west',
    act: () => onWest('update-primary', { update_primary_addrs: [set.at('east').address] }),
  },
  'no primary any more': {
    workflow: 'update-primary',
    at: 'west',
    act: () => onWest('update-primary', { token: '' }),
  },
  'the end of replication': { workflow: 'disable', at: 'west', often: true, act: () => onWest('disable') },
  'an activation': {
    workflow: 'activation',
    at: 'west',
    act: async () => {
      expect((await onWest('disable')).status).toBe(200)
      await set.settled()
      await set.at('east').ok('POST', `${DR}/primary/revoke-secondary`, { id: 'west' })
      const token = await activationToken()
      return set.at('west').request('POST', `${DR}/secondary/enable`, { token })
    },
  },
  'a check of the tree of a primary': {
    workflow: 'merkle-check',
    at: 'east',
    act: () => set.at('east').request('POST', '/sys/replication/merkle-check'),
  },
  'a check of the tree of a secondary': {
    workflow: 'merkle-check',
    at: 'west',
    act: () => onWest('merkle-check'),
  },
  'a reindex of a primary': {
    workflow: 'reindex',
    at: 'east',
    act: () => set.at('east').request('POST', '/sys/replication/reindex', { force: true }),
  },
  'a reindex of a secondary': {
    workflow: 'reindex',
    at: 'west',
    follows: true,
    act: () => onWest('reindex', { diff: true, force: true }),
  },
}

/** Waits until a cluster runs no operation. */
async function ended(cluster: string): Promise<void> {
  const operations = () =>
    set.at(cluster).ports.store.list({ kind: 'operation', pks: [key('operation', '').pk] })
  while ((await operations()).some(({ data }) => data.status === 'running')) await set.clock.sleep(PAUSE_MS)
}

/** Returns the completed steps of a workflow on a cluster in order, without repetitions. */
const stepsAt = (cluster: string, workflow: string): string[] => {
  const steps = set
    .at(cluster)
    .told.filter(({ message }) => message === 'step')
    .map(({ fields }) => fields as { workflow: string; step: string })
  return [...new Set(steps.filter(one => one.workflow === workflow).map(({ step }) => step))]
}

/** Returns each row once, and rows of role changes `ROUNDS` times, each time with another order of calls. */
const cases = Object.entries(rows).flatMap(([name, { often = false }]) =>
  Array.from({ length: often ? ROUNDS : 1 }, (_, round): [string, number] => [name, round + 1]),
)

test('every workflow is tested', () => {
  const begun = new Set(Object.values(rows).map(({ workflow }) => workflow))
  expect([...begun].sort()).toEqual(Object.keys(workflowDefinitions).sort())
})

describe('with staged entries and concurrent writers', () => {
  test.each(cases)('no step of %s fails, round %i', async (name, round) => {
    const { workflow, at, act, follows = false, often = false } = rows[name] as Row
    const order = often ? { random: chanceFrom(round) } : {}
    set = await clusterSet(['east', 'west'], { from, memory: true, aws: true, ...order })
    const stopWriters = repeat(WRITERS, (of, n) => write(`w${of}-${n}`))
    await stage()
    const stopPuller = repeat(follows ? 1 : 0, () => set.at('west').pull())
    const reply = await act()
    await ended(at)
    await Promise.all([stopWriters(), stopPuller()])
    await set.settled()
    const failures = set.members.flatMap(one => one.told.filter(({ message }) => message === 'step failed'))
    expect(failures).toEqual([])
    expect([200, 204], reply.text).toContain(reply.status)
    const { steps }: WorkflowDefinition = workflowDefinitions[workflow]
    expect(stepsAt(at, workflow)).toEqual(steps.filter(step => typeof step === 'string'))
  })
})
