import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createCallBatcher } from '../../../../../../shared/adapters/aws/storage/batching/batch-calls.ts'
import { createPositionBatcher } from '../../../../../../shared/adapters/aws/storage/batching/positions.ts'
import { createStorageEngine } from '../../../../../../shared/adapters/aws/storage/engine.ts'
import { createCallMeter } from '../../../../../../shared/adapters/aws/system.ts'
import type { TableSend } from '../../../../../../shared/adapters/aws/wire/tables.ts'
import { STORED_FORMAT } from '../../../../../../shared/storage/format.ts'
import { FIRST as EPOCH, headIn } from '../../../../../builders/head-moves.ts'

// Tests that commits which wait at the same time get their positions by one update of the journal head.

/**
 * Makes a journal head at position 10. Updates take effect when they are sent, and are answered when the test
 * says so.
 */
function world({ fails = [] as readonly number[], epoch = EPOCH } = {}) {
  let last = 10
  const answers: (() => void)[] = []
  const added: number[] = []
  const send = (async (_: string, { ExpressionAttributeValues: values }: never) => {
    const [count] = Object.values(values as Record<string, unknown>).filter(one => typeof one === 'number')
    const isWriter = Object.values(values as Record<string, unknown>).includes(epoch)
    const index = added.push(Number(count)) - 1
    if (isWriter) last += Number(count)
    const head = { ...headIn.writing, format: STORED_FORMAT, epoch, last }
    await new Promise<void>(resolve => answers.push(resolve))
    if (fails.includes(index)) throw new Error('no answer came')
    if (!isWriter) throw Object.assign(new Error(), { name: 'ConditionalCheckFailedException' })
    return { Attributes: head }
  }) as unknown as TableSend
  const meter = createCallMeter()
  const clock = { now: () => 0, sleep: async () => undefined }
  const tables = { data: 'd', cluster: 'c', journal: 'j' } as never
  const log = { error: () => undefined }
  const engine = createStorageEngine(send, {
    tables,
    clock,
    meter,
    log,
    entropy: { bytes: () => Buffer.alloc(1) } as never,
  })
  const allocate = createPositionBatcher(engine, createCallBatcher, {
    soon: work => void setImmediate().then(work),
    later: () => () => undefined,
  })
  const given = async () => {
    await setImmediate()
    await setImmediate()
    for (const answer of answers.splice(0)) answer()
    await setImmediate()
  }
  return { allocate, added, given, meter }
}

const seqOf = (one: unknown) => (one as { seq: number }).seq

describe('allocating journal positions', () => {
  test('one update allocates the positions of all commits of one turn of the event loop', async () => {
    const { allocate, added, given } = world()
    const three = Promise.all([1, 2, 3].map(() => allocate(EPOCH)))
    await given()
    expect((await three).map(seqOf)).toEqual([11, 12, 13])
    expect(added).toEqual([3])
  })

  test('a position never comes from an update that was sent before the position was requested', async () => {
    const { allocate, added, given } = world()
    const early = [allocate(EPOCH)]
    await setImmediate()
    await setImmediate()
    early.push(allocate(EPOCH), allocate(EPOCH))
    await given()
    expect((await Promise.all(early)).map(seqOf)).toEqual([11, 12, 13])
    expect(added).toEqual([1, 2])
  })

  test('positions of different epochs are allocated and refused separately', async () => {
    const { allocate, given } = world()
    const both = Promise.all([allocate('000000.bbbbbbbbbbbb'), allocate(EPOCH)])
    await given()
    expect(await both).toEqual(['refused', expect.objectContaining({ seq: 11 })])
  })

  test('after a shared update without an answer, each position is requested again alone', async () => {
    const { allocate, added, given } = world({ fails: [0] })
    const two = Promise.all([allocate(EPOCH), allocate(EPOCH)])
    await given()
    await given()
    expect((await two).map(seqOf).toSorted()).toEqual([13, 14])
    expect(added).toEqual([2, 1, 1])
  })

  test('a shared update counts as one call for each commit', async () => {
    const { allocate, given, meter } = world()
    const measured = [1, 2].map(() => meter.measure(() => allocate(EPOCH)))
    await given()
    for (const { calls } of await Promise.all(measured)) expect(calls).toMatchObject({ dynamodb: 1 })
  })
})
