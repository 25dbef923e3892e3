import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../../shared/api/fields.ts'
import { createRoleTag, roleTagFields } from '../../../../shared/auth-method/role-tags/create.ts'
import { isTagSignedWith, parseRoleTag } from '../../../../shared/auth-method/role-tags/tag.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { ec2Role } from '../../../builders/roles.ts'
import { callWith, dataIn } from '../../../support/requests/call.ts'
import { encrypted, item, plainCipher } from '../../../support/tables/items.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
const place = key('role', accessor, 'dev')
const hmacKey = encrypted('role', 'dev', 'hmacKey', 'the key')
const usual = ec2Role({ roleTag: 'Tag', hmacKey })

let nonces = 0
async function create(raw: Record<string, unknown>, role = usual) {
  const call = callWith<typeof roleTagFields>({
    mount: mount({ maxLeaseTtl: 1000 }),
    parameters: readParameterFields(roleTagFields, raw).parameters,
    subjectKey: place,
    subject: item(place, role),
    ports: {
      cipher: plainCipher,
      entropy: {
        bytes: (length: number) => {
          nonces += 1
          return Buffer.alloc(length, nonces)
        },
      },
    },
  })
  const { answer, changes } = await createRoleTag(call)
  const { tag_key, tag_value } = dataIn<{ tag_key: string; tag_value: string }>({ answer })
  return {
    changes,
    name: tag_key,
    value: tag_value,
    warnings: answer.warnings ?? [],
    parsed: parseRoleTag(tag_value),
  }
}
const tagOf = async (raw: Record<string, unknown>, role?: Role) => (await create(raw, role)).parsed?.tag

describe('creating a role tag', () => {
  test("a new tag has the role's tag key and signature, and is not stored", async () => {
    const { name, parsed, changes, warnings } = await create({})
    expect([name, changes, warnings]).toEqual(['Tag', undefined, []])
    expect(isTagSignedWith(parsed ?? expect.fail(), new Secret('the key'))).toBe(true)
    expect(parsed?.tag).toMatchObject({
      role: 'dev',
      policies: [],
      instanceId: '',
      maxTtl: 0,
      disallowReauthentication: false,
      allowInstanceMigration: false,
    })
  })

  test('each new tag is different', async () => {
    expect((await create({})).value).not.toBe((await create({})).value)
  })

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'all of it',
      { policies: ['prod', ' Dev '], max_ttl: '5m', instance_id: 'I-0ABC', disallow_reauthentication: true },
      { policies: ['dev', 'prod'], maxTtl: 300, instanceId: 'i-0abc', disallowReauthentication: true },
    ],
    ['no policies supplied: nothing is said of them', {}, { policies: [] }],
    ['empty policies: only default', { policies: [] }, { policies: ['default'] }],
    ['empty text: only default', { policies: '' }, { policies: ['default'] }],
    ['null: only default', { policies: null }, { policies: ['default'] }],
    ['default is always among the role’s', { policies: 'default,dev' }, { policies: ['default', 'dev'] }],
    ['less than a second', { max_ttl: '999ms' }, { maxTtl: 0 }],
  ])('%s', async (_, raw, expected) => {
    expect(await tagOf(raw)).toMatchObject(expected)
  })

  const bare = ec2Role({ roleTag: 'Tag', hmacKey, token: { noDefaultPolicy: true } })
  test.each<[string, Record<string, unknown>, Role, string]>([
    ['more policies than the role’s', { policies: 'dev,other' }, usual, 'must be a subset'],
    ['the policy root', { policies: 'root' }, usual, 'must be a subset'],
    ['default, where the role leaves it out', { policies: 'default' }, bare, 'must be a subset'],
    ['only default, where the role leaves it out', { policies: [] }, bare, 'must be a subset'],
    ['a policy with a colon', { policies: ['dev', 'a:b'] }, usual, 'visible ASCII'],
    ['a policy beyond ASCII', { policies: ['dév'] }, usual, 'visible ASCII'],
    [
      'both flags',
      { allow_instance_migration: true, disallow_reauthentication: true },
      usual,
      'exclude each other',
    ],
    ['an instance ID with a colon', { instance_id: 'i-0:t=9' }, usual, 'must not contain ":"'],
    ['more than 255 characters', { instance_id: 'i'.repeat(255) }, usual, 'longer than the 255'],
    ['a role without tags', {}, ec2Role(), 'not enabled'],
  ])('creating a tag is rejected: %s', async (_, raw, role, text) => {
    await expect(create(raw, role)).rejects.toThrow(text)
  })

  test('creating a tag for a missing role is rejected', async () => {
    const call = callWith<typeof roleTagFields>({ mount: mount(), parameters: {}, subjectKey: place })
    await expect(createRoleTag(call)).rejects.toThrow('role not found')
  })

  test.each<[string, Record<string, unknown>, Role, string[]]>([
    ['beyond the mount', { max_ttl: 1001 }, usual, ['mount’s maximum (1000 s)']],
    [
      'beyond the role',
      { max_ttl: 700 },
      ec2Role({ roleTag: 'Tag', hmacKey, token: { maxTtl: 600 } }),
      ['token_max_ttl'],
    ],
    ['migration that the role does not have', { allow_instance_migration: true }, usual, ['has no effect']],
    [
      'migration that the role has',
      { allow_instance_migration: true },
      ec2Role({ roleTag: 'Tag', hmacKey, allowInstanceMigration: true }),
      [],
    ],
  ])('a parameter without effect returns a warning: %s', async (_, raw, role, texts) => {
    const { warnings } = await create(raw, role)
    expect(warnings.length).toBe(texts.length)
    for (const [at, text] of texts.entries()) expect(warnings[at]).toContain(text)
  })
})
