import { describe, expect, test } from 'vitest'
import type { CallOutcome } from '../../../../shared/api/call.ts'
import {
  renewAccessorPhases,
  renewPhases,
  renewSelfPhases,
} from '../../../../shared/auth-method/renewal/renew.ts'
import { accessorOfHash, type Token, tokenHashOf } from '../../../../shared/model/token.ts'
import { type Item, key } from '../../../../shared/storage/kinds.ts'
import { Secret } from '../../../../shared/values/secret.ts'
import { authIn, callWith, outcomeOf } from '../../../support/requests/call.ts'
import { memoryStore } from '../../../support/tables/memory-store.ts'
import { NOW, token } from '../../tokens/support.ts'

const accessor = accessorOfHash(tokenHashOf('hvs.parent'))
const MONTH = 2_764_800

/** Renews another caller's token, which `auth/token/create` created ten seconds ago. */
function renewing(
  parts: Partial<Token>,
  given: object,
  phases: typeof renewPhases = renewPhases,
  late = 0,
): Promise<CallOutcome> {
  const data = token({ path: 'auth/token/create', ...parts })
  const item: Item<'token'> = { ...key('token', accessor), rev: 'r1', data, expires: 1 }
  const store = memoryStore([item]).as('tokens')
  const caller = { item, text: new Secret('hvs.parent'), token: data, accessor }
  const clock = { now: () => NOW + late }
  return outcomeOf(phases, callWith({ now: NOW, parameters: given, caller, ports: { store, clock } }))
}

const written = ({ changes = [] }: CallOutcome) =>
  changes[0] as { data: Token; expected: object; times: object }

describe('renewing a token', () => {
  test('a renewal changes only the expiry, and only if the token is unchanged', async () => {
    const outcome = await renewing({}, { token: 'hvs.parent', increment: 60 })
    expect(written(outcome)).toEqual({
      kind: 'put',
      key: key('token', accessor),
      data: token({ path: 'auth/token/create', ttl: 60, renewedAt: NOW }),
      expected: { rev: 'r1' },
      times: { expires: Math.floor(NOW / 1000) + 61 },
    })
    expect(outcome.changes).toHaveLength(1)
    expect(authIn(outcome)).toMatchObject({
      client_token: 'hvs.parent',
      accessor,
      lease_duration: 60,
      renewable: true,
    })
  })

  test('the new TTL starts after the answer of AWS', async () => {
    const outcome = await renewing({}, { token: 'hvs.parent', increment: 60 }, renewPhases, 9000)
    expect(written(outcome)).toMatchObject({
      data: { ttl: 60, renewedAt: NOW + 9000 },
      times: { expires: Math.floor(NOW / 1000) + 70 },
    })
  })

  test('renewing by accessor does not return the token', async () => {
    const outcome = await renewing({}, { accessor }, renewAccessorPhases)
    expect(authIn(outcome)).toMatchObject({ client_token: '', accessor })
  })

  test.each<
    [name: string, parts: Partial<Token>, increment: number | undefined, ttl: number, warned: boolean]
  >([
    ['without increment as long as at its creation', { creationTtl: 900, ttl: 30 }, undefined, 900, false],
    ['an increment of 0 is none', { creationTtl: 900, ttl: 30 }, 0, 900, false],
    ['never beyond the system’s maximum', {}, MONTH, MONTH - 10, true],
    ['never beyond its explicit maximum', { explicitMaxTtl: 100 }, 900, 90, true],
    ['a periodic one by its period', { period: 45 }, 900, 45, false],
  ])('%s', async (_, parts, increment, ttl, warned) => {
    const given = { token: 'hvs.parent', ...(increment === undefined ? {} : { increment }) }
    const outcome = await renewing(parts, given)
    expect(written(outcome).data.ttl).toBe(ttl)
    expect(outcome.answer.warnings).toHaveLength(warned ? 1 : 0)
  })

  test.each<[name: string, parts: Partial<Token>, given: object, message: string]>([
    ['an unknown one', {}, { token: 'hvs.other' }, 'token not found'],
    ['one that has expired', { ttl: 9 }, { token: 'hvs.parent' }, 'token not found'],
    ['one whose mount is gone', { mount: 'gone' }, { token: 'hvs.parent' }, 'token not found'],
    ['one whose parent is gone', { parent: 'gone' }, { token: 'hvs.parent' }, 'token not found'],
    ['one that cannot be renewed', { renewable: false }, { token: 'hvs.parent' }, 'lease is not renewable'],
    ['a batch token', {}, { token: 'hvb.any' }, 'lease is not renewable'],
    ['one at its explicit maximum', { explicitMaxTtl: 10 }, { token: 'hvs.parent' }, 'maximum lifetime'],
  ])('a renewal is rejected: %s', async (_, parts, given, message) => {
    await expect(renewing(parts, given)).rejects.toThrow(message)
  })

  test('a batch token cannot renew itself', async () => {
    const call = callWith({
      caller: { text: new Secret('hvb.x'), token: token({ type: 'batch' }), accessor: '' },
    })
    await expect(outcomeOf(renewSelfPhases, call)).rejects.toThrow('lease is not renewable')
  })

  test('an unknown accessor gets the text that clients match', async () => {
    await expect(renewing({}, { accessor: 'other' }, renewAccessorPhases)).rejects.toThrow('invalid accessor')
  })
})
