import { GetWebIdentityTokenCommand } from '@aws-sdk/client-sts'
import { expect, test } from 'vitest'
import { parseKeySet } from '../../shared/identity-proof/jwk.ts'
import { parseJwt, verifyJwt } from '../../shared/identity-proof/jwt.ts'
import { account, clientsOf, provider } from './clients.ts'

const asked = { Audience: ['here'], SigningAlgorithm: 'RS256', DurationSeconds: 300 }

async function caller() {
  const { url, control } = await provider()
  await control.putRole({ account, name: 'app', path: '/svc/' })
  const session = await control.session({
    account,
    role: 'app',
    session: 'one',
    claims: { ec2_instance_source_vpc: 'vpc-1' },
  })
  return { url, control, sts: clientsOf(url, session).sts }
}

test('an account without federation gives no token', async () => {
  const { sts } = await caller()
  await expect(sts.send(new GetWebIdentityTokenCommand(asked))).rejects.toMatchObject({
    name: 'OutboundWebIdentityFederationDisabledException',
  })
})

test.each(['RS256', 'ES384'])(
  'a token of %s about a session is verified by the keys of its issuer',
  async alg => {
    const { url, control, sts } = await caller()
    const { issuer } = await control.federation({ account })
    await control.putOrganization({ account, organizationId: 'o-a1b2c3d4e5', path: 'o-a1b2c3d4e5/r-ab12' })
    const { WebIdentityToken: text = '' } = await sts.send(
      new GetWebIdentityTokenCommand({ ...asked, SigningAlgorithm: alg }),
    )
    const answer = await fetch(`${url}/.well-known/jwks.json`, {
      headers: { forwarded: `host=${issuer.replace('https://', '')}` },
    })
    const set = parseKeySet(await answer.text())
    const jwt = parseJwt(text)
    if (!jwt.ok || !set.ok) throw new Error('the token or the keys cannot be read')
    const key = set.value.find(({ kid }) => kid === jwt.value.kid)
    expect(key && verifyJwt(jwt.value, key)).toMatchObject({
      sub: `arn:aws:iam::${account}:role/svc/app`,
      audiences: ['here'],
      aws: {
        aws_account: account,
        org_id: 'o-a1b2c3d4e5',
        ou_path: ['o-a1b2c3d4e5/r-ab12'],
        ec2_instance_source_vpc: 'vpc-1',
      },
    })
  },
)

test('the host of an unknown issuer answers 404', async () => {
  const { url } = await provider()
  const headers = { forwarded: 'host=x.tokens.sts.global.api.aws' }
  expect((await fetch(`${url}/.well-known/jwks.json`, { headers })).status).toBe(404)
})
