import { AssumeRoleWithWebIdentityCommand, GetWebIdentityTokenCommand, STSClient } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { parseKeySet } from '../../shared/identity-proof/jwk.ts'
import { parseJwt, verifyJwt } from '../../shared/identity-proof/jwt.ts'
import { account, clientsOf, provider, region } from './clients.ts'
import type { TestKey } from './hand-signer.ts'

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

/** Returns AWS's claims in a token about the holder of credentials. */
async function claimsOf(url: string, key: TestKey) {
  const { WebIdentityToken: text = '' } = await clientsOf(url, key).sts.send(
    new GetWebIdentityTokenCommand(asked),
  )
  const jwt = parseJwt(text)
  if (!jwt.ok) throw new Error('the token cannot be read')
  return jwt.value.aws
}

interface MetadataCredentials {
  AccessKeyId: string
  SecretAccessKey: string
  Token: string
}

const keyOf = ({ AccessKeyId, SecretAccessKey, Token }: MetadataCredentials): TestKey => ({
  accessKeyId: AccessKeyId,
  secretAccessKey: SecretAccessKey,
  sessionToken: Token,
})

describe('a token names where the credentials come from:', () => {
  test('the instance, its VPC and version 2 of the metadata service', async () => {
    const { url, control } = await caller()
    await control.federation({ account })
    const { arn } = await control.putInstanceProfile({ account, name: 'front', roles: ['app'] })
    const instanceOf = async (vpcId: string | null) => {
      const place = { account, region, vpcId, privateIp: '10.0.0.7', instanceProfileArn: arn }
      const { instanceId } = await control.putInstance(place)
      const { url: metadata } = await control.metadataPort({ account, region, instanceId })
      const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' }
      const pass = await (await fetch(`${metadata}/latest/api/token`, { method: 'PUT', headers: ttl })).text()
      const path = `${metadata}/latest/meta-data/iam/security-credentials/app`
      const answer = await fetch(path, { headers: { 'x-aws-ec2-metadata-token': pass } })
      return { instanceId, claims: await claimsOf(url, keyOf(await answer.json())) }
    }
    const { instanceId, claims } = await instanceOf('vpc-1')
    expect(claims).toMatchObject({
      ec2_source_instance_arn: `arn:aws:ec2:${region}:${account}:instance/${instanceId}`,
      ec2_instance_source_vpc: 'vpc-1',
      ec2_instance_source_private_ipv4: '10.0.0.7',
      ec2_role_delivery: '2.0',
    })
    expect(Object.keys((await instanceOf(null)).claims)).not.toContain('ec2_instance_source_vpc')
  })

  test('the tags that a container has', async () => {
    const { url, control } = await caller()
    await control.federation({ account })
    const claims = { principal_tags: { 'kubernetes-namespace': 'shop' } }
    const { token } = await control.containerToken({ account, role: 'app', session: 'eks-1', claims })
    const answer = await fetch(`${url}/v1/credentials`, { headers: { authorization: token } })
    expect(await claimsOf(url, keyOf(await answer.json()))).toMatchObject(claims)
  })

  test('the identity provider of a web identity', async () => {
    const { url, control } = await provider()
    await control.federation({ account })
    const issuer = 'https://gitlab.com'
    const audience = 'sts.amazonaws.com'
    const { arn } = await control.putIdentityProvider({ account, url: issuer, audiences: [audience] })
    const webIdentity = { issuer, audience: [audience], subject: ['job'] }
    const role = await control.putRole({ account, name: 'ci', webIdentity })
    const { token } = await control.identityToken({ issuer, subject: 'job', audience })
    const answer = await new STSClient({ endpoint: url, region }).send(
      new AssumeRoleWithWebIdentityCommand({
        RoleArn: role.arn,
        RoleSessionName: 'run-7',
        WebIdentityToken: token,
      }),
    )
    const { AccessKeyId = '', SecretAccessKey = '', SessionToken = '' } = answer.Credentials ?? {}
    const key = keyOf({ AccessKeyId, SecretAccessKey, Token: SessionToken })
    expect(await claimsOf(url, key)).toMatchObject({ federated_provider: arn })
  })
})
