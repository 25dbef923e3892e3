import { beforeEach, describe, expect, test } from 'vitest'
import { formatEpoch } from '../../../../shared/journal/position.ts'
import { headMoves } from '../../../../shared/journal/transitions.ts'
import { makeOwnLinkKey } from '../../../../shared/link/admin/keys.ts'
import { type ClusterRecord, createEmptyLink } from '../../../../shared/model/cluster.ts'
import type { OperationState } from '../../../../shared/model/operation.ts'
import { failOperation, type OperationRun } from '../../../../shared/replication/operation/run.ts'
import { putItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { operationWorkflows } from '../../../../shared/workers/operations.ts'
import { policyAt } from '../../../builders/journal.ts'
import { operationRunAt } from '../../../support/set/operation-run.ts'
import { asAlone, asPrimary, commit, type Member, member } from '../../../support/set/pair.ts'
import { Crash, crashes } from '../../../support/tables/crash.ts'

const OPERATION = '0c0ffee0-0000-4000-8000-000000000002'
let east: Member
const audited: Record<string, unknown>[] = []

beforeEach(async () => {
  east = await member()
  audited.length = 0
  await asAlone(east)
  await asPrimary(east)
  const [record] = await east.store.read([key('cluster')])
  if (!record) throw new Error('not initialised')
  const primary: ClusterRecord = {
    ...record.data,
    mode: 'primary',
    set: 'set-1',
    epoch: formatEpoch(1, east.id),
    treeId: east.treeId,
    link: createEmptyLink(await makeOwnLinkKey(east)),
    operation: OPERATION,
  }
  const now = east.turn.ms
  const state: OperationState = {
    name: 'demotion',
    status: 'running',
    step: 'close',
    startedAt: now,
    changedAt: now,
  }
  await east.store.commit(
    [replaceItem(record, record, primary), putItem(key('operation', OPERATION), state)],
    {
      record: record.data,
      readAt: now,
    },
  )
  for (let n = 0; n < 3; n++) await commit(east, [policyAt(`p${n}`), `${n}`])
  // a process has allocated a position, and has died before it wrote the entry
  await east.journal.allocate(formatEpoch(1, east.id))
})

const runOf = (watched: <T extends object>(port: T) => T = port => port): OperationRun =>
  operationRunAt(east, watched, {
    connect: () => {
      throw new Error('nobody is asked')
    },
    audit: entry => void audited.push(entry),
    wake: () => undefined,
  })

/** Runs all steps of the demotion, as the workflow does. */
async function takeSteps(run: OperationRun): Promise<void> {
  for (const step of Object.values(operationWorkflows.demotion.steps))
    for (let tries = 0; (await step(run, OPERATION)).next === 'again'; tries++)
      if (tries > 20) throw new Error('a step never ends')
}

const stand = async () => {
  const [record, operation] = await east.store.read([key('cluster'), key('operation', OPERATION)])
  return { record: record?.data, operation: operation?.data, head: await east.journal.head() }
}

/** Checks that east is a secondary without a primary, and that its journal has no hole before its end. */
async function isDemoted(): Promise<void> {
  const { record, operation, head } = await stand()
  expect(record).toMatchObject({
    mode: 'secondary',
    set: 'set-1',
    epoch: formatEpoch(1, east.id),
    link: { secondaryId: '', primaryAddr: '', primaryAddrs: [], primaryKey: '' },
  })
  expect(record).not.toHaveProperty('operation')
  expect(operation).toMatchObject({ status: 'done' })
  expect(head).toMatchObject({ mode: 'closed', last: 4, applied: 4 })
  expect((await east.journal.entries(head?.lineage ?? [], 0, 4)).every(entry => entry !== undefined)).toBe(
    true,
  )
  expect(await commit(east, [policyAt('late'), 'v'])).toBeUndefined()
}

describe('a demotion', () => {
  test('ends the journal exactly during writes, and allows the next role change', async () => {
    await takeSteps(runOf())
    await isDemoted()
    expect(audited).toEqual([
      expect.objectContaining({ event: 'primary-closed', operation: OPERATION, reason: 'demote', seq: 4 }),
    ])
  })

  test('repeated from its first step changes nothing', async () => {
    await takeSteps(runOf())
    const before = await stand()
    await takeSteps(runOf())
    expect(await stand()).toEqual(before)
  })

  test('whose process dies at any call is continued, with the same result', async () => {
    let deaths = 0
    for (let [at, alive] = [1, false]; !alive; at++)
      for (const when of ['before', 'after'] as const) {
        const { watched } = crashes(at, when)
        alive = await takeSteps(runOf(watched)).then(
          () => true,
          error => {
            if (!(error instanceof Crash)) throw error
            return false
          },
        )
        deaths += alive ? 0 : 1
      }
    expect(deaths).toBeGreaterThan(10)
    await isDemoted()
  })

  test('that fails allows another role change, and keeps its completed steps', async () => {
    const text = 'the step close failed'
    await failOperation(runOf(), OPERATION, { code: 'internal', text })
    const { record, operation } = await stand()
    expect(record).toMatchObject({ mode: 'primary' })
    expect(record).not.toHaveProperty('operation')
    expect(operation).toMatchObject({ status: 'failed', fault: { text } })
    // a late failure must not change an operation that has been replaced
    await failOperation(runOf(), OPERATION, { code: 'internal', text: 'again' })
    expect((await stand()).operation).toMatchObject({ fault: { text } })
  })

  test('of a cluster without a journal of its own is refused', async () => {
    const open = (await east.journal.head()) ?? expect.unreachable()
    const head = await east.journal.moveHead(headMoves.close(open, '', 0))
    if (head !== 'refused') await east.journal.moveHead(headMoves.leaveSet(head, head.maxEpoch))
    await expect(takeSteps(runOf())).rejects.toMatchObject({ name: 'OperationFailed', code: 'busy' })
  })
})
