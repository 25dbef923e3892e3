import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import type { AwsClientConfig } from '../../../../shared/model/config.ts'
import type { Change } from '../../../../shared/storage/changes.ts'
import { encrypted } from '../../../support/tables/items.ts'
import { configured, refused, rotate, START, type World } from './world.ts'

const wrote = (field: string) => (changes: readonly Change[]) =>
  changes.some(change => change.kind === 'put' && change.key.kind === 'client-config' && field in change.data)

describe('rotating the root key', () => {
  test('a rotation replaces the key, deletes the old key, and returns the new key without its secret', async () => {
    const { outcome, keys, config, guard: left } = await rotate({})
    expect(outcome).toEqual({ kind: 'data', data: { access_key: 'NEW' } })
    expect(keys).toEqual(['NEW'])
    expect(config).toEqual({
      ...configured,
      accessKey: 'NEW',
      secretKey: encrypted('client-config', 'client', 'secretKey', 'new'),
    })
    expect(left).toMatchObject({ leaseUntil: 0, makingSince: 0 })
  })

  const { secretKey: _, ...keyless } = configured
  test.each<[string, World, string]>([
    ['nothing is configured', { config: undefined }, 'client credentials have not been configured'],
    ['no access key is configured', { config: { ...configured, accessKey: '' } }, 'no access key to rotate'],
    ['no secret key is configured', { config: keyless }, 'no secret key to rotate'],
    [
      'another rotation runs',
      { guard: { leaseUntil: START + 1, makingSince: 0, owner: 'other' } },
      'already running',
    ],
    ['the key is that of a root user', { user: undefined }, 'belongs to the root user'],
    ['the user has another key', { others: { OTHER: 0 } }, 'has another access key, OTHER'],
    [
      'IAM makes no key',
      { iam: { create: refused() } },
      'a new access key could not be made: IAM refused: LimitExceeded',
    ],
  ])('a rotation is rejected without changes: %s', async (_, world, text) => {
    const { outcome, keys, config, guard: left } = await rotate(world)
    expect(outcome).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(text) })
    expect(keys).toEqual(['OLD', ...Object.keys(world.others ?? {})])
    expect(config).toEqual('config' in world ? world.config : configured)
    expect(left?.makingSince ?? 0).toBe(0)
  })

  test('the old key stays while a connected secondary lacks the new key', async () => {
    const { outcome, keys } = await rotate({ behind: true })
    expect(outcome).toMatchObject({
      data: { access_key: 'NEW' },
      warnings: [expect.stringContaining('a secondary does not have the new access key yet')],
    })
    expect(keys).toEqual(['OLD', 'NEW'])
  })

  test('a user that may not list its keys can be rotated', async () => {
    expect((await rotate({ iam: { list: refused() } })).keys).toEqual(['NEW'])
  })

  test('an IAM fault while listing keys ends the rotation before a key is created', async () => {
    const busy = new ApiError('busy', 'throttled')
    expect(await rotate({ iam: { list: busy } })).toMatchObject({
      outcome: busy,
      keys: ['OLD'],
      guard: { makingSince: 0 },
    })
  })
})

describe('a failure during rotation leaves a working key', () => {
  test('if the response of CreateAccessKey is lost, the next rotation deletes that key', async () => {
    const lost = new ApiError('busy', 'no answer')
    const first = await rotate({ iam: { 'create, but it was made': lost } })
    expect(first).toMatchObject({
      outcome: lost,
      keys: ['OLD', 'NEW'],
      config: configured,
      guard: { leaseUntil: 0, makingSince: START },
    })
    const next = await rotate({ others: { LOST: START + 500 }, guard: first.guard ?? expect.fail() })
    expect(next).toMatchObject({ keys: ['NEW'], guard: { makingSince: 0 } })
  })

  test.each([
    ['before', START - 60_001],
    ['after', START + 60_001],
  ])('a key created long %s a lost key is not deleted', async (_, at) => {
    const { outcome, keys } = await rotate({
      others: { OTHER: at },
      guard: { leaseUntil: 0, makingSince: START, owner: 'other' },
    })
    expect([String(outcome), keys]).toEqual([expect.stringContaining('another access key'), ['OLD', 'OTHER']])
  })

  test('if the configuration changes during the rotation, the new key is deleted', async () => {
    const stored = wrote('previousSecretKey')
    const { outcome, keys, config } = await rotate({
      fault: changes => (stored(changes) ? 'conflict' : undefined),
    })
    expect([String(outcome), keys, config]).toEqual([
      expect.stringContaining('changed during the rotation'),
      ['OLD'],
      configured,
    ])
  })

  test('if storing fails, the new key is deleted', async () => {
    const stored = wrote('previousSecretKey')
    const { outcome, keys, config } = await rotate({
      fault: changes => (stored(changes) ? 'fails' : undefined),
    })
    expect([String(outcome), keys, config]).toEqual(['Error: the table failed', ['OLD'], configured])
  })

  test('if a failed commit was stored after all, the stored key is kept', async () => {
    const stored = wrote('previousSecretKey')
    const { outcome, keys } = await rotate({
      fault: changes => (stored(changes) ? 'done, but seems to fail' : undefined),
    })
    expect([outcome, keys]).toMatchObject([{ data: { access_key: 'NEW' } }, ['NEW']])
  })

  test('if AWS does not accept the new key in time, the old key stays as fallback with a warning', async () => {
    const { outcome, keys, config } = await rotate({ iam: { works: false } })
    expect(outcome).toMatchObject({
      data: { access_key: 'NEW' },
      warnings: [expect.stringContaining('the old access key OLD was kept')],
    })
    expect([keys, config]).toMatchObject([['OLD', 'NEW'], { accessKey: 'NEW', previousAccessKey: 'OLD' }])
  })

  test('if the old key cannot be deleted, the warning names the key', async () => {
    const { outcome, keys, config } = await rotate({ iam: { delete: new ApiError('busy', 'throttled') } })
    expect(outcome).toMatchObject({
      data: { access_key: 'NEW' },
      warnings: [expect.stringContaining('OLD could not be deleted')],
    })
    expect([keys, config]).toMatchObject([['OLD', 'NEW'], { accessKey: 'NEW', previousAccessKey: 'OLD' }])
  })

  const unfinished: AwsClientConfig = {
    ...configured,
    previousAccessKey: 'OLDER',
    previousSecretKey: encrypted('client-config', 'client', 'previousSecretKey', 'older'),
  }
  test('an unfinished earlier rotation is finished first', async () => {
    const { keys, config } = await rotate({ config: unfinished, others: { OLDER: 0 } })
    expect([keys, config?.accessKey, config?.previousAccessKey]).toEqual([['NEW'], 'NEW', undefined])
  })

  test('while an earlier rotation cannot be finished, no key is created', async () => {
    const { outcome, keys } = await rotate({
      config: unfinished,
      others: { OLDER: 0 },
      iam: { works: false },
    })
    expect([String(outcome), keys]).toEqual([expect.stringContaining('OLDER still exists'), ['OLD', 'OLDER']])
  })

  test('a failing release of the guard does not change the response', async () => {
    const givenBack = (changes: readonly Change[]) =>
      changes.length === 1 && changes[0]?.kind === 'put' && JSON.stringify(changes).includes('"leaseUntil":0')
    const { outcome, keys } = await rotate({ fault: changes => (givenBack(changes) ? 'fails' : undefined) })
    expect([outcome, keys]).toMatchObject([{ data: { access_key: 'NEW' } }, ['NEW']])
  })
})
