import { expect, test } from 'vitest'
import { longestTokenSeconds } from '../../../../shared/auth-method/review/token-life.ts'
import type { Mount } from '../../../../shared/model/mount.ts'
import type { Role } from '../../../../shared/model/role.ts'
import { iamRole } from '../../../builders/roles.ts'

const HOUR = 3600
const SYSTEM = 768 * HOUR
type Terms = Partial<Role['token']>
type Settings = Pick<Mount, 'tokenType' | 'defaultLeaseTtl' | 'maxLeaseTtl'>

const mount: Settings = { tokenType: 'default-service', defaultLeaseTtl: 0, maxLeaseTtl: 0 }

const batch: Terms = { type: 'batch' }

test.each<[string, Terms, Partial<Settings>, number]>([
  ['no limit', {}, {}, SYSTEM],
  ['a maximum of the mount', {}, { maxLeaseTtl: HOUR }, HOUR],
  ['a maximum above the mount’s', { maxTtl: 48 * HOUR }, { maxLeaseTtl: HOUR }, HOUR],
  ['a maximum', { maxTtl: 48 * HOUR }, {}, 48 * HOUR],
  ['a short ttl with a long maximum', { ttl: HOUR, maxTtl: 48 * HOUR }, {}, 48 * HOUR],
  ['an explicit maximum below the maximum', { maxTtl: 48 * HOUR, explicitMaxTtl: HOUR }, {}, HOUR],
  ['a period without a maximum', { period: HOUR }, {}, HOUR],
  ['a period above the maximum', { period: 48 * HOUR, maxTtl: HOUR }, {}, HOUR],
  ['a batch token', { ...batch, ttl: HOUR, maxTtl: 48 * HOUR }, {}, HOUR],
  ['a batch token without ttl', batch, { defaultLeaseTtl: 2 * HOUR }, 2 * HOUR],
  ['a batch token of the system’s default', batch, {}, SYSTEM],
  ['a batch token by the mount', { ttl: HOUR }, { tokenType: 'batch' }, HOUR],
  ['a batch token that the mount refuses', { ...batch, ttl: HOUR }, { tokenType: 'service' }, SYSTEM],
])('%s', (_, token, settings, seconds) => {
  expect(longestTokenSeconds(iamRole({ token }), { ...mount, ...settings })).toBe(seconds)
})

test('a token that ends with the session lives for twelve hours at most', () => {
  expect(longestTokenSeconds({ ...iamRole(), capToSession: true }, mount)).toBe(12 * HOUR)
})
