import { describe, expect, test } from 'vitest'
import type { CallOutcome } from '../../../shared/api/call.ts'
import type { Alias } from '../../../shared/model/alias.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../shared/model/token.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { lookUpOwnToken, lookUpToken, lookUpTokenByAccessor } from '../../../shared/tokens/lookup.ts'
import {
  revokeOwnToken,
  revokeToken,
  revokeTokenAndOrphan,
  revokeTokenByAccessor,
} from '../../../shared/tokens/revoke.ts'
import { Secret } from '../../../shared/values/secret.ts'
import { callWith, dataIn } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'
import { clearCipher, NOW, sealingTerm, token } from './support.ts'

const accessor = accessorOfHash(tokenHashOf('hvs.other'))
const stored = (parts: Partial<Token> = {}): Item<'token'> =>
  item(key('token', accessor), token({ hash: tokenHashOf('hvs.other'), ...parts }), 'r1')

/** Builds a call by a caller other than the holder of `hvs.other`. */
function calling(given: object, items: Item[] = [stored()], own: Partial<Token> = {}) {
  const { store, commits } = memoryStore([sealingTerm, ...items])
  const mine = token({ hash: tokenHashOf('hvs.mine'), ...own })
  const caller = {
    token: mine,
    text: new Secret('hvs.mine'),
    accessor: mine.type === 'batch' ? '' : accessorOfHash(mine.hash),
  }
  const ports = { store, cipher: clearCipher, clock: { now: () => NOW } }
  const cluster = { record: {}, readAt: NOW }
  return {
    call: callWith({
      parameters: given,
      caller,
      ports,
      now: NOW,
      cluster,
      mounts: { mounts: [], removing: [] },
    }),
    commits,
  }
}

const shown = async (outcome: Promise<CallOutcome>) => dataIn(await outcome)

describe('the response of a lookup', () => {
  test('a login token is shown with all its fields', async () => {
    const data = await shown(lookUpToken(calling({ token: 'hvs.other' }).call))
    expect(data).toEqual({
      id: 'hvs.other',
      accessor,
      type: 'service',
      path: 'auth/cloud/login',
      display_name: 'cloud-dev',
      policies: ['default', 'dev'],
      identity_policies: [],
      meta: null,
      entity_id: '',
      orphan: true,
      num_uses: 0,
      renewable: true,
      creation_time: 1_799_999_990,
      issue_time: '2027-01-15T07:59:50.25Z',
      creation_ttl: 3600,
      ttl: 3590,
      expire_time: '2027-01-15T08:59:50.35Z',
      explicit_max_ttl: 0,
    })
  })

  test('fields that only some tokens have are shown', async () => {
    const more = {
      role: 'ci',
      period: 60,
      boundCidrs: ['10.0.0.0/8'],
      renewedAt: NOW,
      parent: accessorOfHash(tokenHashOf('hvs.p')),
    }
    const parent: Item<'token'> = { ...key('token', more.parent), rev: 'r', data: token() }
    expect(
      await shown(lookUpToken(calling({ token: 'hvs.other' }, [stored(more), parent]).call)),
    ).toMatchObject({
      role: 'ci',
      period: 60,
      bound_cidrs: ['10.0.0.0/8'],
      last_renewal: '2027-01-15T08:00:00.25Z',
      last_renewal_time: 1_800_000_000,
      orphan: false,
      ttl: 3600,
    })
  })

  test('parent, login and hash are never shown', async () => {
    const login = { authType: 'iam', role: 'r', roleId: 'S3CRET', account: '1' } as const
    expect(
      JSON.stringify(await shown(lookUpToken(calling({ token: 'hvs.other' }, [stored({ login })]).call))),
    ).not.toMatch(/S3CRET|hash/)
  })

  test('a token that never expires has no expire_time', async () => {
    expect(
      await shown(lookUpToken(calling({ token: 'hvs.other' }, [stored({ ttl: 0 })]).call)),
    ).toMatchObject({
      ttl: 0,
      expire_time: null,
    })
  })

  test('the policies of the entity are shown', async () => {
    const entity = { id: 'e', mount: 'm', alias: 'a' }
    const alias = item(key('alias', 'm', 'a'), { policies: ['ops'] } as Partial<Alias> as Alias, 'r')
    expect(
      await shown(lookUpToken(calling({ token: 'hvs.other' }, [stored({ entity }), alias]).call)),
    ).toMatchObject({
      entity_id: 'e',
      identity_policies: ['ops'],
    })
  })

  test("a lookup by accessor shows everything except the token's text", async () => {
    expect(await shown(lookUpTokenByAccessor(calling({ accessor }).call))).toMatchObject({ id: '', accessor })
  })

  test("a lookup of the caller's own token, named or not, needs no search", async () => {
    const own = { id: 'hvs.mine', accessor: accessorOfHash(tokenHashOf('hvs.mine')) }
    for (const look of [
      lookUpOwnToken(calling({}).call),
      lookUpToken(calling({}).call),
      lookUpToken(calling({ token: 'hvs.mine' }).call),
    ])
      expect(await shown(look)).toMatchObject(own)
  })

  test('a batch token is shown without an accessor', async () => {
    const text = `hvb.${await clearCipher.encryptToken(JSON.stringify(token({ type: 'batch', hash: '' })))}`
    expect(await shown(lookUpToken(calling({ token: text }).call))).toMatchObject({
      id: text,
      accessor: '',
      type: 'batch',
    })
  })

  test.each<[name: string, items: Item[]]>([
    ['unknown', []],
    ['expired', [stored({ ttl: 9 })]],
    ['of a mount that is gone', [stored({ mount: 'gone' })]],
    ['of a parent that is gone', [stored({ parent: 'gone' })]],
  ])('a lookup of a token that is %s returns bad token', async (_, items) => {
    await expect(lookUpToken(calling({ token: 'hvs.other' }, items).call)).rejects.toMatchObject({
      code: 'bad_token',
    })
    await expect(lookUpTokenByAccessor(calling({ accessor }, items).call)).rejects.toThrow('invalid accessor')
  })
})

describe('revoking a token', () => {
  const gone = [{ kind: 'delete', key: key('token', accessor), expected: 'any' }]

  test.each<[name: string, work: () => Promise<CallOutcome>]>([
    ['by its text', () => revokeToken(calling({ token: 'hvs.other' }).call)],
    ['by its accessor', () => revokeTokenByAccessor(calling({ accessor }).call)],
    ['but not its children', () => revokeTokenAndOrphan(calling({ token: 'hvs.other' }).call)],
  ])('the token is deleted %s', async (_, work) => {
    expect(await work()).toMatchObject({ answer: { kind: 'nothing' }, changes: gone })
  })

  test('the parent index entry is deleted too', async () => {
    const { changes } = await revokeToken(calling({ token: 'hvs.other' }, [stored({ parent: 'p' })]).call)
    expect(changes).toEqual([...gone, { kind: 'delete', key: key('child', 'p', accessor), expected: 'any' }])
  })

  test("revoke-self deletes the caller's token", async () => {
    const { changes } = await revokeOwnToken(calling({}).call)
    expect(changes).toEqual([
      { kind: 'delete', key: key('token', accessorOfHash(tokenHashOf('hvs.mine'))), expected: 'any' },
    ])
  })

  test('revoking an unknown token succeeds, an unknown accessor adds a warning', async () => {
    expect((await revokeToken(calling({ token: 'hvs.x' }).call)).answer).toEqual({ kind: 'nothing' })
    const outcome = await revokeTokenByAccessor(calling({ accessor: 'x' }).call)
    expect(outcome.answer.warnings).toHaveLength(1)
    expect(outcome.changes).toBeUndefined()
  })

  test('revoking a batch token or orphaning an unknown token is rejected', async () => {
    await expect(revokeToken(calling({ token: 'hvb.x' }).call)).rejects.toThrow(
      'batch tokens cannot be revoked',
    )
    await expect(revokeTokenAndOrphan(calling({ token: 'hvb.x' }).call)).rejects.toThrow('batch tokens')
    expect(() => revokeOwnToken(calling({}, [], { type: 'batch', hash: '' }).call)).toThrow('batch tokens')
    await expect(revokeTokenAndOrphan(calling({ token: 'hvs.x' }).call)).rejects.toThrow('token not found')
  })
})
