import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { createInstanceQuestion } from '../../../../shared/auth-method/login/describe-instance.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import type { Role } from '../../../../shared/model/role.ts'
import type { AwsTarget, InstanceProfile } from '../../../../shared/ports.ts'
import { usualInstance } from '../../../builders/ec2-facts.ts'
import { ec2Role } from '../../../builders/roles.ts'
import { callWith } from '../../../support/requests/call.ts'

const access = { account: '111122223333', region: 'eu-west-1', client: undefined, sts: undefined }
const NOW = 1_000_000_000
const binding = ec2Role({ bound: { bound_iam_role_arn: ['*'] } })
const usualProfile: InstanceProfile = {
  arn: usualInstance.profileArn ?? '',
  uniqueId: 'AIPA',
  roleArns: ['arn:aws:iam::111122223333:role/web'],
}

/** Builds EC2 and IAM with prepared answers, and records their calls. */
function world(
  answers: (Instance | undefined | Error)[],
  profile: InstanceProfile | undefined = usualProfile,
) {
  const asked: string[] = []
  const left = [...answers]
  const call = callWith({
    now: NOW * 1000,
    ports: {
      clock: { now: () => NOW * 1000, sleep: async () => void asked.push('sleep') },
      instances: {
        describe: async (to: AwsTarget, id: string) => {
          asked.push(`describe ${id} in ${to.account}`)
          const next = left.length > 1 ? left.shift() : left[0]
          if (next instanceof Error) throw next
          return next
        },
      },
      principals: {
        profile: async (_: AwsTarget, name: string) => {
          asked.push(`profile ${name}`)
          return profile
        },
      },
    },
  })
  return { call, asked }
}
type World = ReturnType<typeof world>
const describeInstance = ({ call }: Pick<World, 'call'>, id: string, role: Role, startedAt: number) =>
  createInstanceQuestion(call, access, { id, role, startedAt }).ask()
const OLD = NOW - 301
const YOUNG = NOW - 299
const ASK = `describe ${usualInstance.id} in 111122223333`

describe('looking up an instance', () => {
  test('a look-up makes one call to EC2', async () => {
    const { call, asked } = world([usualInstance])
    expect(await describeInstance({ call }, usualInstance.id, ec2Role(), OLD)).toEqual({
      instance: usualInstance,
    })
    expect(asked).toEqual([ASK])
  })

  test('only a young unknown instance is looked up again', async () => {
    const old = world([undefined])
    expect(await describeInstance(old, usualInstance.id, ec2Role(), OLD)).toEqual({
      instance: undefined,
    })
    expect(old.asked).toEqual([ASK])
    const young = world([undefined])
    expect(await describeInstance(young, usualInstance.id, ec2Role(), YOUNG)).toEqual({
      instance: undefined,
    })
    expect(young.asked).toEqual([ASK, 'sleep', ASK, 'sleep', ASK])
    const late = world([undefined, usualInstance])
    expect(await describeInstance(late, usualInstance.id, ec2Role(), YOUNG)).toEqual({
      instance: usualInstance,
    })
    expect(late.asked).toEqual([ASK, 'sleep', ASK])
  })

  test('an AWS refusal names the instance, and AWS faults stay unchanged', async () => {
    const refused = world([
      new ApiError('invalid_request', 'AWS said no', { reason: { why: 'provider-refused' } }),
    ])
    await expect(describeInstance(refused, 'i-1', ec2Role(), OLD)).rejects.toMatchObject({
      code: 'invalid_request',
      message: 'failed to verify the instance i-1: AWS said no',
      reason: { why: 'provider-refused' },
    })
    const busy = new ApiError('busy', 'throttled')
    await expect(describeInstance(world([busy]), 'i-1', ec2Role(), OLD)).rejects.toBe(busy)
  })
})

describe('the role of the instance profile: CVE-2025-11621', () => {
  const roleArn = async (profile: InstanceProfile | undefined, instance: Instance = usualInstance) => {
    const { call, asked } = world([instance], profile)
    return { asked, seen: (await describeInstance({ call }, instance.id, binding, OLD)).roleArn }
  }

  test("the role comes from the instance's own profile", async () => {
    const { asked, seen } = await roleArn(usualProfile)
    expect([asked, seen]).toEqual([[ASK, 'profile web'], 'arn:aws:iam::111122223333:role/web'])
  })

  test.each<[string, InstanceProfile]>([
    [
      'a profile of the same name in another account',
      { ...usualProfile, arn: 'arn:aws:iam::444455556666:instance-profile/app/web' },
    ],
    [
      'a profile of the same name on another path',
      { ...usualProfile, arn: 'arn:aws:iam::111122223333:instance-profile/web' },
    ],
    ['a profile without role', { ...usualProfile, roleArns: [] }],
    ['a profile of two roles', { ...usualProfile, roleArns: ['a', 'b'] }],
  ])('the role does not come from the profile of %s', async (_, profile) => {
    expect((await roleArn(profile)).seen).toBeUndefined()
  })

  test('the role is not looked up without a profile or without a role binding', async () => {
    const { profileArn: _, ...bare } = usualInstance
    expect((await roleArn(usualProfile, bare)).asked).toEqual([ASK])
    const { call, asked } = world([usualInstance])
    await describeInstance({ call }, usualInstance.id, ec2Role(), OLD)
    expect(asked).toEqual([ASK])
  })
})
