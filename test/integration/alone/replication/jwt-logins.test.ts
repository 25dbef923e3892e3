import { beforeAll, expect, test } from 'vitest'
import { ISSUER_ID } from '../../../builders/web-token.ts'
import { acceptUsualTokens, logInByToken, usualToken } from '../../../support/set/jwt-logins.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { promotions } from '../../../support/set/promotion.ts'
import { clusterSet } from '../../../support/set/set.ts'

// Logins by tokens of AWS across a planned switch and a forced promotion: what stays used and known, and what the
// lost commits make possible again.

const NAMES = ['east', 'west']
const ONCE = 'tokens of AWS that logged in after that position can log in once more on this cluster'

let from: Warm
beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: NAMES })
})

/** Makes a pair whose mount `cloud` accepts the usual tokens. */
async function pairWithJwt(config: object = {}) {
  const set = await clusterSet(NAMES, { from, memory: true })
  const fetches = await acceptUsualTokens(set, NAMES, {
    config: { max_token_age: 240, clock_skew_leeway: 30, ...config },
  })
  await set.converge()
  const doing = promotions(set)
  await doing.giveToken('west')
  return { set, doing, fetches }
}

const USED = '400 the token has been used; ask AWS for a new one'

test('a used token stays used after a planned switch, and the new primary knows the issuer', async () => {
  const { set, doing, fetches } = await pairWithJwt()
  const [used, fresh] = [usualToken(set, 'used'), usualToken(set, 'fresh')]
  expect(await logInByToken(set, 'west', used)).toMatch(/^(?!200)/)
  expect(fetches).toEqual([])
  expect(await logInByToken(set, 'east', used)).toBe('200')
  await set.converge()
  const { status, body } = await doing.promote('west')
  expect(status).toBe(200)
  expect(String(body.warnings)).not.toContain('tokens of AWS')
  await set.settled()
  expect(await logInByToken(set, 'west', used)).toBe(USED)
  expect(await logInByToken(set, 'west', fresh)).toBe('200')
  expect(fetches.map(one => one.split('.')[0])).toEqual([`east ${ISSUER_ID}`])
})

test('a token that was used in the lost seconds logs in once more after a forced promotion, which warns', async () => {
  const { set, doing, fetches } = await pairWithJwt()
  const lost = usualToken(set, 'lost')
  set.cut('east', 'west')
  expect(await logInByToken(set, 'east', lost)).toBe('200')
  set.pass(90_000)
  const { status, body } = await doing.promote('west', { force: true })
  expect(status).toBe(200)
  expect(body.warnings).toEqual(
    expect.arrayContaining([
      expect.stringContaining(`${ONCE}, for at most 270 s`),
      expect.stringContaining('issuers that logins learnt after that position are learnt again'),
      expect.stringContaining('blocks of issuers and of accounts'),
    ]),
  )
  await set.settled()
  expect(await logInByToken(set, 'west', lost)).toBe('200')
  expect(await logInByToken(set, 'west', lost)).toBe(USED)
  expect(fetches.map(one => one.split(' ')[0])).toEqual(['east', 'west'])
})

test('a forced promotion warns only about mounts with config/jwt, and of the reuse only with single_use', async () => {
  const { set, doing } = await pairWithJwt({ single_use: false, organizations: '' })
  set.cut('east', 'west')
  set.pass(90_000)
  const { body } = await doing.promote('west', { force: true })
  expect(String(body.warnings)).not.toContain('tokens of AWS')
  expect(String(body.warnings)).not.toContain('learnt')
  expect(String(body.warnings)).toContain('blocks of issuers and of accounts')
})
