import { describe, expect, test } from 'vitest'
import { isStatementSignedBy, signMemberStatement } from '../../../shared/link/statements.ts'
import { pair, withOneBitChanged } from '../../builders/link.ts'

const issuer = pair()
const membership = {
  set: 'a set',
  issuer: 'the primary',
  subject: 'a secondary',
  key: pair().keys.signing.toString('base64'),
  epoch: '000001.0123456789ab',
}
const statement = signMemberStatement(issuer.signing, membership)

describe('a statement of membership', () => {
  test('a cluster that knows the issuer’s key accepts the statement', () => {
    expect(isStatementSignedBy(issuer.keys.signing, statement)).toBe(true)
    expect(isStatementSignedBy(pair().keys.signing, statement)).toBe(false)
  })

  test.each(Object.keys(membership) as (keyof typeof membership)[])(
    'a statement with another %s is rejected',
    name => {
      expect(isStatementSignedBy(issuer.keys.signing, { ...statement, [name]: `${statement[name]}x` })).toBe(
        false,
      )
    },
  )

  test('the signature covers each field separately', () => {
    const moved = { ...statement, issuer: `${statement.issuer}"`, subject: statement.subject }
    expect(isStatementSignedBy(issuer.keys.signing, moved)).toBe(false)
  })

  test('a statement with one changed bit in its signature, or in another encoding, is rejected', () => {
    for (const bytes of withOneBitChanged(Buffer.from(statement.signature, 'base64'))) {
      const changed = { ...statement, signature: bytes.toString('base64') }
      expect(isStatementSignedBy(issuer.keys.signing, changed)).toBe(false)
    }
    for (const signature of ['', `${statement.signature}\n`, statement.signature.slice(4)])
      expect(isStatementSignedBy(issuer.keys.signing, { ...statement, signature })).toBe(false)
  })
})
