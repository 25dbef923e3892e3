import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import type { AwsAccountAccess } from '../../../../shared/auth-method/config/accounts.ts'
import { defaultClientSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { findFullPrincipalArn } from '../../../../shared/auth-method/login-iam/full-arn.ts'
import type { IamPrincipal } from '../../../../shared/ports.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { type IamEntity, parseIamEntity } from '../../../../shared/values/arn.ts'
import { askAlways, callWith } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'

const HOUR = 3_600_000
let versions = 0
/** Builds access settings for which nothing is cached. */
const freshAccess = (parts: Partial<AwsAccountAccess> = {}): AwsAccountAccess => {
  versions += 1
  return {
    account: '111122223333',
    region: 'us-east-1',
    client: client(`full-arn ${versions}`),
    sts: undefined,
    ...parts,
  }
}
const client = (rev: string) => item(key('client-config', 'auth_cloud_1'), defaultClientSettings, rev)
const stsRole = item(key('sts-role', 'auth_cloud_1', '111122223333'), {
  role: 'arn:aws:iam::111122223333:role/r',
  externalId: '',
})

const entity = (arn: string) => parseIamEntity(arn) ?? expect.fail()
const app = entity('arn:aws:sts::111122223333:assumed-role/app/session')
const found: IamPrincipal = { arn: 'arn:aws:iam::111122223333:role/team/app', uniqueId: 'AROAEXAMPLE' }

interface Given {
  answer?: IamPrincipal | Error | 'nobody'
  who?: IamEntity
  uniqueId?: string | 'unknown'
  now?: number
}

/** Looks up a principal with a prepared answer. Returns the ARN or the error, and the number of IAM calls. */
async function lookUp(
  access: AwsAccountAccess,
  { answer = found, who = app, uniqueId = 'AROAEXAMPLE', now = 0 }: Given = {},
) {
  let asked = 0
  const find = async () => {
    asked += 1
    if (answer instanceof Error) throw answer
    return answer === 'nobody' ? undefined : answer
  }
  const call = callWith({ now, ports: { principals: { find }, cipher: plainCipher } })
  const id = uniqueId === 'unknown' ? undefined : uniqueId
  const arn = await findFullPrincipalArn(call, access, who, id, askAlways).catch(
    (error: ApiError) => error.reason?.['why'] ?? error.code,
  )
  return { arn, asked }
}

describe('looking up the full ARN of a caller: CVE-2025-11621', () => {
  test('the full ARN of a role comes from IAM', async () => {
    expect(await lookUp(freshAccess())).toEqual({ arn: found.arn, asked: 1 })
  })

  test('the full ARN of a user comes from IAM', async () => {
    const arn = 'arn:aws:iam::111122223333:user/team/bob'
    const given = {
      who: entity('arn:aws:iam::111122223333:user/bob'),
      answer: { arn, uniqueId: 'AIDA' },
      uniqueId: 'AIDA',
    }
    expect((await lookUp(freshAccess(), given)).arn).toBe(arn)
  })

  test.each<[string, IamPrincipal | 'nobody']>([
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
  ])('the login is rejected if IAM returns %s', async (_, answer) => {
    expect((await lookUp(freshAccess(), { answer })).arn).toBe('principal-lookup')
  })

  test('without a unique ID, account and name must match', async () => {
    expect((await lookUp(freshAccess(), { uniqueId: 'unknown' })).arn).toBe(found.arn)
    const foreign = { ...found, arn: 'arn:aws:iam::444455556666:role/team/app' }
    expect((await lookUp(freshAccess(), { uniqueId: 'unknown', answer: foreign })).arn).toBe(
      'principal-lookup',
    )
  })
})

describe('the cache of full ARNs', () => {
  test('a cached ARN is used for an hour, then looked up again', async () => {
    const access = freshAccess()
    expect((await lookUp(access)).asked).toBe(1)
    expect(await lookUp(access, { now: HOUR - 1 })).toEqual({ arn: found.arn, asked: 0 })
    expect((await lookUp(access, { now: HOUR })).asked).toBe(1)
  })

  test.each<[string, Partial<AwsAccountAccess>, Given]>([
    ['STS role', { sts: stsRole }, {}],
    ['client configuration', { client: client('full-arn another') }, {}],
    [
      'account',
      { account: '444455556666' },
      {
        who: { ...app, account: '444455556666' },
        answer: { ...found, arn: found.arn.replace('111122223333', '444455556666') },
      },
    ],
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
  ])('a cached ARN is not used for another %s', async (_, parts, given) => {
    const access = freshAccess()
    await lookUp(access)
    expect((await lookUp({ ...access, ...parts }, given)).asked).toBe(1)
  })

  test('a cached ARN is used for all sessions of the role', async () => {
    const access = freshAccess()
    await lookUp(access)
    const who = entity('arn:aws:sts::111122223333:assumed-role/app/another')
    expect((await lookUp(access, { who })).asked).toBe(0)
  })

  test.each<[string, Given['answer'] & {}, string]>([
    ['a refusal', 'nobody', 'principal-lookup'],
    ['a fault', new ApiError('provider_failed', 'down'), 'provider_failed'],
  ])('a cached ARN is never %s', async (_, answer, why) => {
    const access = freshAccess()
    expect((await lookUp(access, { answer })).arn).toBe(why)
    expect(await lookUp(access)).toEqual({ arn: found.arn, asked: 1 })
  })
})
