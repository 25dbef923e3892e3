import { describe, expect, test } from 'vitest'
import { verifyDocumentByBuiltInKeys } from '../../../../shared/auth-method/login.ts'
import { ec2LoginPhases } from '../../../../shared/auth-method/login-ec2/login.ts'
import type { Ec2Proof } from '../../../../shared/auth-method/login-ec2/proof.ts'
import { renderRoleTag } from '../../../../shared/auth-method/role-tags/tag.ts'
import type { Instance } from '../../../../shared/model/instance.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { accessItem, documentOf, usualTag as tag, usualInstance } from '../../../builders/ec2-facts.ts'
import { ec2Role } from '../../../builders/roles.ts'
import { encrypted, item } from '../../../support/tables/items.ts'
import { aliasItem, attemptsAt, outcomeOf, writtenBy } from '../login/attempts.ts'

const accessor = 'auth_cloud_1'
const place = key('role', accessor, 'dev')
const role = (parts: Parameters<typeof ec2Role>[0] = {}) =>
  ec2Role({ bound: { bound_account_id: ['111122223333'] }, ...parts })
const METADATA = { account_id: '111122223333', auth_type: 'ec2' }

const proven: Ec2Proof = {
  type: 'ec2',
  proof: { form: 'pkcs7', message: {} as never },
  document: documentOf(),
}

interface World {
  role?: Role
  instance?: Partial<Instance>
  others?: Item[]
  parameters?: Record<string, unknown>
  proof?: Ec2Proof
}

/** Builds a login of an instance. */
function world({
  role: given = role(),
  instance = {},
  others = [],
  parameters: sent = {},
  proof = proven,
}: World = {}) {
  const asked: string[] = []
  const describe = async (_: unknown, id: string) => {
    asked.push(id)
    return { ...usualInstance, ...instance }
  }
  const attempts = attemptsAt({
    items: [item(place, given), ...others],
    parameters: { role: 'dev', ...sent },
    provider: { instances: { describe } },
  })
  const login = () => attempts.attempt(ec2LoginPhases, proof)
  return { ...attempts, asked, login, outcome: () => outcomeOf(login) }
}

const tagValue = renderRoleTag(tag, new Secret('the key'))
const tagged = role({ roleTag: 'Tag', hmacKey: encrypted('role', 'dev', 'hmacKey', 'the key') })

describe('an ec2 login', () => {
  test('an unverifiable document is rejected before the role is read', async () => {
    const unproven = await verifyDocumentByBuiltInKeys(
      { identity: Buffer.from('{}').toString('base64'), signature: 'AAAA' },
      false,
    )
    const { login, read, asked } = world({ proof: unproven })
    await expect(login()).rejects.toThrow('could not be verified')
    expect([read, asked]).toEqual([[], []])
  })

  test('a login that the role forbids is rejected before the call to EC2', async () => {
    const { login, asked } = world({ role: role({ bound: { bound_region: ['us-east-1'] } }) })
    await expect(login()).rejects.toThrow('bound_region')
    expect(asked).toEqual([])
  })

  test("a login is rejected if EC2's answer does not satisfy the role", async () => {
    const { outcome, asked, drawn } = world({ instance: { state: 'stopped' } })
    await expect(outcome()).rejects.toThrow('not running')
    expect([asked, drawn.bytes]).toEqual([[usualInstance.id], 0])
  })

  test("after EC2 answers, the login reads again, with the deny-list entry of the instance's tag", async () => {
    const { login, drawn } = world({ role: tagged, instance: { tags: { Tag: tagValue } } })
    expect(await login()).toEqual({ kind: 'reread', keys: [key('deny', accessor, tagValue)] })
    expect(drawn.bytes, 'no token before').toBe(0)
  })

  test('after EC2 answers, the login uses the currently stored role and does not call EC2 again', async () => {
    const { login, asked, stored } = world()
    expect(await login()).toEqual({ kind: 'reread', keys: [] })
    const closed = role({ token: { boundCidrs: ['10.0.0.0/8'] } })
    stored.put(item(place, closed))
    await expect(login()).rejects.toMatchObject({ reason: { why: 'source-address' } })
    expect(asked).toEqual([usualInstance.id])
  })

  test('a tag denied during the call to EC2 rejects the login', async () => {
    const { login, stored } = world({ role: tagged, instance: { tags: { Tag: tagValue } } })
    await login()
    const denial = key('deny', accessor, tagValue)
    stored.put(item(denial, { createdAt: 0, expiresAt: 1 }))
    await expect(login()).rejects.toThrow('deny list')
  })

  test('one commit writes token, entity and access-list entry', async () => {
    const { outcome, asked, commits } = world()
    const result = await outcome()
    expect(result.answer).toMatchObject({
      kind: 'auth',
      auth: { policies: ['default', 'dev', 'prod'], metadata: { role: 'dev', nonce: expect.any(String) } },
    })
    expect(writtenBy(result)).toEqual(['access', 'alias', 'alias-id', 'entity', 'token'])
    expect(result.afterwards).toBeUndefined()
    expect([asked, commits]).toEqual([[usualInstance.id], []])
  })

  test('a repeated login replaces its entry conditionally, with its nonce encrypted for that key', async () => {
    const entry = accessItem({ clientNonce: encrypted('access', usualInstance.id, 'clientNonce', 'right') })
    const alias = aliasItem(role().roleId, METADATA)
    const { outcome } = world({ others: [entry, alias], parameters: { nonce: 'right' } })
    const { changes = [] } = await outcome()
    const written = changes.find(change => change.key.kind === 'access')
    expect(written).toMatchObject({
      kind: 'put',
      key: key('access', accessor, usualInstance.id),
      expected: { rev: entry.rev },
      data: { clientNonce: entry.data.clientNonce, createdAt: entry.data.createdAt },
    })
    expect(writtenBy({ changes } as never)).toEqual(['access', 'token'])
  })

  test('a login with another nonce is rejected before the call to EC2', async () => {
    const entry = accessItem({ clientNonce: encrypted('access', usualInstance.id, 'clientNonce', 'right') })
    const { login, asked } = world({ others: [entry], parameters: { nonce: 'wrong' } })
    await expect(login()).rejects.toThrow('nonce does not match')
    expect(asked).toEqual([])
  })

  test('no nonce is stored if reauthentication is disabled', async () => {
    const { outcome } = world({ role: role({ disallowReauthentication: true }) })
    const { changes = [] } = await outcome()
    const written = changes.find(change => change.key.kind === 'access')
    expect(written).toMatchObject({ data: { disallowReauthentication: true } })
    expect(JSON.stringify(written)).not.toContain('clientNonce')
  })

  test('changed alias metadata is written after the commit, and its failure is ignored', async () => {
    const { outcome, commits } = world({ others: [aliasItem(role().roleId, { account_id: 'before' })] })
    const result = await outcome()
    expect(writtenBy(result)).toEqual(['access', 'token'])
    await result.afterwards?.()
    expect(commits).toMatchObject([[{ kind: 'put', key: { kind: 'alias' }, data: { metadata: METADATA } }]])
  })
})
