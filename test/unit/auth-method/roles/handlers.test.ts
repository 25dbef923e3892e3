import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../../shared/api/errors.ts'
import { readParameterFields } from '../../../../shared/api/fields.ts'
import { roleFields } from '../../../../shared/auth-method/roles/fields.ts'
import { roleAnswer, writeRolePhases } from '../../../../shared/auth-method/roles/handlers.ts'
import type { AwsTarget, IamPrincipal } from '../../../../shared/ports.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { ec2Role, iamRole } from '../../../builders/roles.ts'
import { callWith, outcomeOf } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { unsaid } from '../../endpoints/interface.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const known: Record<string, IamPrincipal> = {
  'role app': { arn: 'arn:aws:iam::111122223333:role/app', uniqueId: 'AROAAPP' },
  'role pathed': { arn: 'arn:aws:iam::111122223333:role/team/pathed', uniqueId: 'AROAPATHED' },
  'role gov': { arn: 'arn:aws-us-gov:iam::444455556666:role/gov', uniqueId: 'AROAGOV' },
  'user bob': { arn: 'arn:aws:iam::111122223333:user/bob', uniqueId: 'AIDABOB' },
  'instance-profile web': { arn: 'arn:aws:iam::111122223333:instance-profile/web', uniqueId: 'AIPAWEB' },
}

async function write(raw: Record<string, unknown>, failing?: ApiError) {
  const asked: string[] = []
  const { store } = memoryStore([
    item(key('sts-role', accessor, '444455556666'), {
      role: 'arn:aws:iam::444455556666:role/r',
      externalId: '',
    }),
  ])
  const call = callWith<typeof roleFields>({
    mount: mount(),
    subjectKey: key('role', accessor, 'dev'),
    parameters: readParameterFields(roleFields, raw).parameters,
    ports: {
      store,
      cipher: plainCipher,
      entropy: { uuid: () => 'uuid' },
      principals: {
        find: async (target: AwsTarget, { type, name }: { type: string; name: string }) => {
          asked.push(
            [type, name, target.account, target.region, target.assume?.role].filter(Boolean).join(' '),
          )
          if (failing) throw failing
          return known[`${type} ${name}`]
        },
      },
    },
  })
  const { changes = [] } = await outcomeOf(writeRolePhases, call)
  return { asked, data: (changes[0] as { data: Record<string, unknown> }).data }
}

const principals = (...names: string[]) => ({
  bound_iam_principal_arn: names.map(name => `arn:aws:iam::111122223333:${name}`),
})

describe('unique IDs of bound principals', () => {
  test('unique IDs are looked up one at a time, in list order', async () => {
    const { asked, data } = await write(
      principals('user/bob', 'role/app', 'instance-profile/web', 'role/team/pathed'),
    )
    expect(data['boundIamPrincipalIds']).toEqual(['AIDABOB', 'AROAAPP', 'AIPAWEB', 'AROAPATHED'])
    expect(asked[0]).toBe('user bob 111122223333 us-east-1')
  })

  test("unique IDs of other partitions use their region, of other accounts the account's STS role", async () => {
    const { asked } = await write({ bound_iam_principal_arn: known['role gov']?.arn })
    expect(asked).toEqual(['role gov 444455556666 us-gov-west-1 arn:aws:iam::444455556666:role/r'])
  })

  test('wildcards are not looked up', async () => {
    expect((await write(principals('role/app', 'role/*'))).asked).toEqual(['role app 111122223333 us-east-1'])
  })

  test.each([
    ['nobody', principals('role/nobody'), 'there is no such role'],
    [
      'a session',
      { bound_iam_principal_arn: 'arn:aws:sts::111122223333:assumed-role/app/s' },
      'not the ARN of a user, a role',
    ],
    ['root', principals('root'), 'not the ARN of a user, a role'],
    ['no ARN', { bound_iam_principal_arn: 'app' }, 'not the ARN of a user, a role'],
    ['another path', principals('role/other/app'), 'the path in the ARN differs from the path in IAM'],
    [
      'no path where there is one',
      principals('role/pathed'),
      'the path in the ARN differs from the path in IAM',
    ],
  ])('a role write is rejected if IAM returns %s', async (_, raw, text) => {
    await expect(write(raw)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(text),
    })
  })

  test('an invalid request makes no IAM call', async () => {
    const asked = write({ ...principals('role/app'), role_tag: 'x' }, new ApiError('internal', 'asked'))
    await expect(asked).rejects.toThrow('role_tag is valid only')
  })

  test('an IAM refusal is a client error, and an IAM fault a server error', async () => {
    await expect(write(principals('role/app'), new ApiError('invalid_request', 'denied'))).rejects.toThrow(
      'cannot resolve unique ID of arn:aws:iam::111122223333:role/app: denied',
    )
    const busy = new ApiError('busy', 'throttled')
    await expect(write(principals('role/app'), busy)).rejects.toBe(busy)
  })

  test("the tag key of a new role is encrypted for the role's item", async () => {
    expect((await write(principals('role/app'))).data['hmacKey']).toBe('role dev hmacKey: uuid')
  })
})

describe('reading a role', () => {
  test('all lists are arrays, and the tag key is never returned', () => {
    const shown = roleAnswer(ec2Role({ bound: { bound_ami_id: ['ami-1'] }, roleTag: 'Tag' }))
    expect(shown).toEqual({
      auth_type: 'ec2',
      ...unsaid('bound_'),
      bound_ami_id: ['ami-1'],
      bound_iam_principal_id: [],
      inferred_entity_type: '',
      inferred_aws_region: '',
      resolve_aws_unique_ids: true,
      role_id: ec2Role().roleId,
      role_tag: 'Tag',
      allow_instance_migration: false,
      disallow_reauthentication: false,
      ...unsaid('token_'),
      token_policies: ['dev', 'prod'],
    })
  })

  test('a role stored before unique IDs existed resolves no unique IDs', () => {
    const { resolveAwsUniqueIds: _, ...old } = iamRole()
    expect(roleAnswer(old)['resolve_aws_unique_ids']).toBe(false)
  })

  test('a returned role can be written back', async () => {
    const { role_id: _, bound_iam_principal_id: __, ...shown } = roleAnswer(iamRole())
    await expect(write(shown)).resolves.toBeDefined()
  })
})
