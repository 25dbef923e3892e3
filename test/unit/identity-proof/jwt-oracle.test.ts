import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { parseJwt, verifyJwt } from '../../../shared/identity-proof/jwt.ts'
import { ecKey, publicJwks, rsaKey } from '../../builders/web-token.ts'
import { mutateToken } from '../../builders/web-token-mutations.ts'
import { chanceFrom } from '../../support/set/chance.ts'

// Changes tokens at random, many of them before they are signed, and asks the library `jose` about each token that
// this service accepts. `FUZZ_SEED=7` repeats a run, `FUZZ_TOKENS=1000000` makes more tokens.

const TOKENS = Number(process.env['FUZZ_TOKENS'] ?? 2000)
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31))

interface Jose {
  importJWK(jwk: object, alg: string): Promise<object>
  compactVerify(
    token: string,
    key: object,
    options: { algorithms: string[] },
  ): Promise<{ payload: Uint8Array; protectedHeader: object }>
}
const require = createRequire(import.meta.url)
const jose: Jose = require('jose')

test(`jose accepts every one of ${TOKENS} mutated tokens that this service accepts, with the same claims (FUZZ_SEED=${seed})`, async () => {
  const chance = chanceFrom(seed)
  const keys = {
    RS256: await jose.importJWK(publicJwks.rsa, 'RS256'),
    ES384: await jose.importJWK(publicJwks.ec, 'ES384'),
  }
  const found = new Map<string, number>()
  for (let made = 0; made < TOKENS; made++) {
    const token = mutateToken(chance)
    const read = parseJwt(token)
    const why = read.ok ? judge(read.value) : read.fault.why
    found.set(why, (found.get(why) ?? 0) + 1)
    if (!read.ok || why !== 'accepted') continue
    const { alg, sub, jti, iat, exp, aws, kid } = read.value
    const { payload, protectedHeader } = await jose
      .compactVerify(token, keys[alg], { algorithms: [alg] })
      .catch((error: Error) => {
        throw new Error(`jose refuses a token that this service accepts (${error.message}): ${token}`)
      })
    const claims = JSON.parse(Buffer.from(payload).toString())
    expect(claims).toMatchObject({ sub, jti, iat, exp, 'https://sts.amazonaws.com/': aws })
    expect(protectedHeader).toMatchObject({ alg, kid })
  }
  // a run in which every token is refused, or for one reason, would show nothing
  expect(found.get('accepted'), JSON.stringify([...found])).toBeGreaterThan(TOKENS / 20)
  for (const why of ['jwt-form', 'jwt-algorithm', 'jwt-issuer', 'jwt-signature'])
    expect(found.get(why), why).toBeGreaterThan(0)
}, 900_000)

type Parsed = Extract<ReturnType<typeof parseJwt>, { ok: true }>['value']

const judge = (jwt: Parsed): string => {
  const key = [rsaKey, ecKey].find(({ kid, alg }) => kid === jwt.kid && alg === jwt.alg)
  if (!key) return 'jwt-key'
  return verifyJwt(jwt, key) ? 'accepted' : 'jwt-signature'
}
