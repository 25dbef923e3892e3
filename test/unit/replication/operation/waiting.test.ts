import { describe, expect, test } from 'vitest'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import {
  noteWaitingExecution,
  readWaitingExecution,
  startAndAwaitWorkflow,
  WAITING_EXECUTION_TTL_MS,
} from '../../../../shared/replication/operation/waiting.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { type EncryptedText, Secret } from '../../../../shared/values/secret.ts'
import { portsWith } from '../../../builders/ports.ts'
import { item } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'

const record: Item<'cluster'> = item(key('cluster'), { id: 'c-1', keyringEdition: 1 } as ClusterRecord, 'r')

function world({ signalled = async () => true }: { signalled?: () => Promise<boolean> } = {}) {
  const { store, commits } = memoryStore([record])
  const clock = { ms: 1000 }
  const calls: string[] = []
  const ports = portsWith({
    store,
    clock: { now: () => clock.ms },
    cipher: {
      expectKeyring: () => undefined,
      encrypt: async (_: unknown, __: string, text: string) => `sealed ${text}` as EncryptedText,
      decrypt: async (_: unknown, __: string, text: string) => new Secret(text.replace('sealed ', '')),
    },
    workflows: {
      start: async (name: string, id: string) => void calls.push(`start ${name} ${id}`),
      signal: async (token: string, answer: unknown) => {
        calls.push(`signal ${token} ${JSON.stringify(answer)}`)
        return signalled()
      },
    },
  })
  return { ports, clock, commits, calls }
}

const waitingItem = (): Item<'waiting'> =>
  item(key('waiting', 'activation'), { until: 1, token: 'sealed t' as EncryptedText, options: {} }, 'w')

describe('an execution that was started by hand', () => {
  test('the execution is stored for an hour, with its token encrypted', async () => {
    const { ports, clock, commits } = world()
    await noteWaitingExecution('activation', { token: 't', options: { force: false } }, ports)
    expect(commits.flat().map(change => 'data' in change && change.data)).toEqual([
      { until: 1000 + WAITING_EXECUTION_TTL_MS, token: 'sealed t', options: { force: false } },
    ])
    expect(await readWaitingExecution('activation', ports)).toMatchObject({
      data: { options: { force: false } },
    })
    clock.ms += WAITING_EXECUTION_TTL_MS
    expect(await readWaitingExecution('activation', ports)).toBeUndefined()
  })

  test('the execution gets the operation’s id, and no second execution starts', async () => {
    const { ports, calls } = world()
    await startAndAwaitWorkflow('activation', 'op-1', waitingItem(), ports)
    expect(calls).toEqual(['signal t {"operation":"op-1"}'])
  })

  test.each<[string, () => Promise<boolean>]>([
    ['has ended', async () => false],
    ['cannot be reached', () => Promise.reject(new Error('no'))],
  ])('an execution that %s is replaced by a new execution', async (_, signalled) => {
    const { ports, calls } = world({ signalled })
    await startAndAwaitWorkflow('activation', 'op-1', waitingItem(), ports)
    expect(calls).toEqual(['signal t {"operation":"op-1"}', 'start activation op-1'])
  })

  test('a workflow starts without a manually started execution', async () => {
    const { ports, calls } = world()
    await startAndAwaitWorkflow('activation', 'op-1', undefined, ports)
    expect(calls).toEqual(['start activation op-1'])
  })
})
