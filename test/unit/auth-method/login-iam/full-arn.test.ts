import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { fullArnOf } from '../../../../shared/auth-method/login-iam/full-arn.ts'
import type { AwsTarget, Principal } from '../../../../shared/ports.ts'
import { type Entity, parseEntity } from '../../../../shared/values/arn.ts'
import { callWith } from '../../../support/requests/call.ts'

const HOUR = 3_600_000
let versions = 0
/** A configuration that nothing is known of yet. */
const freshAccess = (parts: Partial<AwsTarget> = {}): AwsTarget => {
  versions += 1
  return {
    account: '111122223333',
    region: 'us-east-1',
    client: { version: `full-arn ${versions}` },
    ...parts,
  } as AwsTarget
}

const entity = (arn: string) => parseEntity(arn) ?? expect.fail()
const app = entity('arn:aws:sts::111122223333:assumed-role/app/session')
const found: Principal = { arn: 'arn:aws:iam::111122223333:role/team/app', uniqueId: 'AROAEXAMPLE' }

interface Given {
  answer?: Principal | Error | 'nobody'
  who?: Entity
  uniqueId?: string | 'unknown'
  now?: number
}

/** Looks up with a prepared answer; tells the ARN, or why not, and how often IAM was asked. */
async function lookUp(
  target: AwsTarget,
  { answer = found, who = app, uniqueId = 'AROAEXAMPLE', now = 0 }: Given = {},
) {
  let asked = 0
  const find = async () => {
    asked += 1
    if (answer instanceof Error) throw answer
    return answer === 'nobody' ? undefined : answer
  }
  const call = callWith({ now, ports: { principals: { find } } })
  const arn = await fullArnOf(call, target, who, uniqueId === 'unknown' ? undefined : uniqueId).catch(
    (error: ApiError) => error.reason?.['why'] ?? error.code,
  )
  return { arn, asked }
}

describe('the ARN of a caller with its path: CVE-2025-11621', () => {
  test('is what IAM says of the caller’s own role', async () => {
    expect(await lookUp(freshAccess())).toEqual({ arn: found.arn, asked: 1 })
  })

  test('is what IAM says of a user', async () => {
    const arn = 'arn:aws:iam::111122223333:user/team/bob'
    const given = {
      who: entity('arn:aws:iam::111122223333:user/bob'),
      answer: { arn, uniqueId: 'AIDA' },
      uniqueId: 'AIDA',
    }
    expect((await lookUp(freshAccess(), given)).arn).toBe(arn)
  })

  test.each<[string, Principal | 'nobody']>([
    ['nobody', 'nobody'],
    ['somebody of another unique ID', { ...found, uniqueId: 'AROAOTHER' }],
    [
      'a role of the same name in another account',
      { ...found, arn: 'arn:aws:iam::444455556666:role/team/app' },
    ],
    [
      'a role of the same name in another partition',
      { ...found, arn: 'arn:aws-cn:iam::111122223333:role/team/app' },
    ],
    ['a user of the same name', { ...found, arn: 'arn:aws:iam::111122223333:user/team/app' }],
    ['another name', { ...found, arn: 'arn:aws:iam::111122223333:role/team/other' }],
    ['a name that only ends so', { ...found, arn: 'arn:aws:iam::111122223333:role/team/xapp' }],
  ])('IAM tells of %s: refused', async (_, answer) => {
    expect((await lookUp(freshAccess(), { answer })).arn).toBe('principal-lookup')
  })

  test('without a unique ID to compare, account and name have to be right', async () => {
    expect((await lookUp(freshAccess(), { uniqueId: 'unknown' })).arn).toBe(found.arn)
    const foreign = { ...found, arn: 'arn:aws:iam::444455556666:role/team/app' }
    expect((await lookUp(freshAccess(), { uniqueId: 'unknown', answer: foreign })).arn).toBe(
      'principal-lookup',
    )
  })
})

describe('what is remembered of it', () => {
  test('is used for an hour, and then looked up again', async () => {
    const target = freshAccess()
    expect((await lookUp(target)).asked).toBe(1)
    expect(await lookUp(target, { now: HOUR - 1 })).toEqual({ arn: found.arn, asked: 0 })
    expect((await lookUp(target, { now: HOUR })).asked).toBe(1)
  })

  test.each<[string, Partial<AwsTarget>, Given]>([
    ['account', { account: '444455556666' }, {}],
    ['STS role', { assume: { role: 'arn:aws:iam::111122223333:role/r', externalId: '' } }, {}],
    ['client configuration', { client: { version: 'full-arn another' } as AwsTarget['client'] }, {}],
    ['unique ID', {}, { uniqueId: 'AROAOTHER', answer: { ...found, uniqueId: 'AROAOTHER' } }],
    [
      'partition',
      {},
      { who: { ...app, partition: 'aws-cn' }, answer: { ...found, arn: found.arn.replace('aws', 'aws-cn') } },
    ],
    [
      'name',
      {},
      { who: { ...app, name: 'other' }, answer: { ...found, arn: 'arn:aws:iam::111122223333:role/other' } },
    ],
    [
      'type',
      {},
      {
        who: entity('arn:aws:iam::111122223333:user/app'),
        answer: { ...found, arn: 'arn:aws:iam::111122223333:user/app' },
      },
    ],
  ])('is not used for another %s', async (_, parts, given) => {
    const target = freshAccess()
    await lookUp(target)
    expect((await lookUp({ ...target, ...parts }, given)).asked).toBe(1)
  })

  test('is used for every session of the role', async () => {
    const target = freshAccess()
    await lookUp(target)
    const who = entity('arn:aws:sts::111122223333:assumed-role/app/another')
    expect((await lookUp(target, { who })).asked).toBe(0)
  })

  test.each<[string, Given['answer'] & {}, string]>([
    ['a refusal', 'nobody', 'principal-lookup'],
    ['a fault', new ApiError('provider_failed', 'down'), 'provider_failed'],
  ])('is never %s', async (_, answer, why) => {
    const target = freshAccess()
    expect((await lookUp(target, { answer })).arn).toBe(why)
    expect(await lookUp(target)).toEqual({ arn: found.arn, asked: 1 })
  })
})
