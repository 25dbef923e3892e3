import { describe, expect, test } from 'vitest'
import { readCallerIdentity } from '../../../shared/identity-proof/caller-identity.ts'
import { parseIamEntity } from '../../../shared/values/arn.ts'
import { stsAnswer } from '../../builders/sts-answer.ts'
import vectors from '../../vectors/instance-identity.json' with { type: 'json' }

const [usual] = vectors.accepted

describe('the identity of an instance with its own role', () => {
  test.each(vectors.accepted)('$what is read, with its ID as unique ID', ({ Arn, UserId, Account }) => {
    expect(readCallerIdentity(stsAnswer({ Arn, UserId, Account }))).toEqual({
      ok: true,
      value: {
        kind: 'instance',
        arn: Arn,
        account: Account,
        canonicalArn: Arn,
        uniqueId: Arn.split('/').at(-1),
      },
    })
  })

  test.each(vectors.refused)('refused: $what', ({ what: _, why, ...changed }) => {
    const { what: __, ...fields } = usual ?? { what: '' }
    expect(readCallerIdentity(stsAnswer({ ...fields, ...changed }))).toMatchObject({
      ok: false,
      fault: { why },
    })
  })

  test.each(vectors.accepted)('the ARN of $what is not the ARN of a role', ({ Arn }) => {
    expect(parseIamEntity(Arn)).toBeUndefined()
  })

  test('the session of a role named after the instance is a principal', () => {
    const Arn = 'arn:aws:sts::111122223333:assumed-role/ec2-instance/i-0123456789abcdef0'
    expect(readCallerIdentity(stsAnswer({ Arn }))).toMatchObject({ value: { kind: 'principal' } })
  })
})
