import { expect, test } from 'vitest'
import { key } from '../../../../shared/storage/kinds.ts'
import { ISSUER_ID } from '../../../builders/web-token.ts'
import { acceptUsualTokens, logInByToken, usualToken } from '../../../support/set/jwt-logins.ts'
import { clusterSet } from '../../../support/set/set.ts'

// An issuer whose host answers after four seconds. The clock of the clusters moves only when everything waits, so it
// shows for how long a login waits.

const HOUR_MS = 3_600_000
const SLOW_MS = 4000
const WAIT_MS = 300
/** longest time of a login that waits for nothing but the tables */
const AT_ONCE_MS = 50

test('one login with known keys waits 300 ms for a slow issuer, the others do not wait, and a later login stores the keys', async () => {
  const set = await clusterSet(['east'], { memory: true })
  const fetches = await acceptUsualTokens(set, ['east'])
  expect(await logInByToken(set, 'east', usualToken(set, 'first'))).toBe('200')
  const { ports } = set.at('east')
  const { fetch } = ports.issuerKeys
  ports.issuerKeys = {
    fetch: async (...of) => {
      await set.clock.sleep(SLOW_MS)
      return fetch(...of)
    },
  }
  const accessor = (await ports.store.read([key('mounts')]))[0]?.data.mounts.find(
    ({ path }) => path === 'cloud',
  )?.accessor
  const fetchedAt = async () =>
    (await ports.store.read([key('issuer', accessor ?? '', ISSUER_ID)]))[0]?.data.fetchedAt
  const before = await fetchedAt()
  set.pass(2 * HOUR_MS)
  const waits: number[] = []
  for (const jti of ['a', 'b', 'c']) {
    const started = set.clock.now()
    expect(await logInByToken(set, 'east', usualToken(set, jti))).toBe('200')
    waits.push(set.clock.now() - started)
  }
  const [first = 0, ...others] = waits
  expect(first).toBeGreaterThanOrEqual(WAIT_MS)
  expect(first).toBeLessThan(WAIT_MS + AT_ONCE_MS)
  expect(Math.max(...others)).toBeLessThan(AT_ONCE_MS)
  expect(await fetchedAt()).toBe(before)
  await set.clock.sleep(SLOW_MS)
  const started = set.clock.now()
  expect(await logInByToken(set, 'east', usualToken(set, 'd'))).toBe('200')
  expect(set.clock.now() - started).toBeLessThan(AT_ONCE_MS)
  expect(await fetchedAt()).toBeGreaterThanOrEqual((before ?? 0) + 2 * HOUR_MS)
  expect(fetches).toHaveLength(2)
})
