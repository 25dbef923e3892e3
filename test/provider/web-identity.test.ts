import { generateKeyPairSync, sign } from 'node:crypto'
import { AssumeRoleWithWebIdentityCommand, GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { describe, expect, test } from 'vitest'
import { account, clientsOf, provider, region } from './clients.ts'

const issuer = 'https://token.actions.githubusercontent.com'
const subject = 'repo:shop/web:ref:refs/heads/main'
const claims = { issuer, subject, audience: 'sts.amazonaws.com' }
const RoleArn = `arn:aws:iam::${account}:role/ci/deploy`

/** Starts a provider whose account trusts an issuer, and whose role trusts tokens of one repository. */
async function trusting(patterns = ['repo:shop/*']) {
  const { url, control } = await provider()
  await control.putIdentityProvider({ account, url: issuer, audiences: ['sts.amazonaws.com', 'other'] })
  const webIdentity = { issuer, audience: ['sts.amazonaws.com'], subject: patterns }
  const role = await control.putRole({ account, name: 'deploy', path: '/ci/', trusts: [], webIdentity })
  const sts = new STSClient({ endpoint: url, region, maxAttempts: 1 })
  const assume = async (
    WebIdentityToken: string,
    more: { RoleArn?: string; DurationSeconds?: number } = {},
  ) =>
    sts.send(
      new AssumeRoleWithWebIdentityCommand({ RoleArn, RoleSessionName: 'run-7', WebIdentityToken, ...more }),
    )
  const tokenOf = async (change: Partial<typeof claims> & { ttlSeconds?: number } = {}) =>
    (await control.identityToken({ ...claims, ...change })).token
  return { url, control, role, assume, tokenOf }
}

const AccessDenied = {
  name: 'AccessDenied',
  message: 'Not authorized to perform sts:AssumeRoleWithWebIdentity',
  $metadata: { httpStatusCode: 403 },
}

describe('AssumeRoleWithWebIdentity', () => {
  test('returns working credentials of a role with a path, without a signature', async () => {
    const { url, role, assume, tokenOf } = await trusting()
    const answer = await assume(await tokenOf())
    expect(answer).toMatchObject({
      AssumedRoleUser: {
        Arn: `arn:aws:sts::${account}:assumed-role/deploy/run-7`,
        AssumedRoleId: `${role.roleId}:run-7`,
      },
      SubjectFromWebIdentityToken: subject,
      Audience: 'sts.amazonaws.com',
      Provider: `arn:aws:iam::${account}:oidc-provider/token.actions.githubusercontent.com`,
    })
    const { AccessKeyId = '', SecretAccessKey = '', SessionToken = '' } = answer.Credentials ?? {}
    const key = { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken: SessionToken }
    const who = await clientsOf(url, key).sts.send(new GetCallerIdentityCommand())
    expect(who.Arn).toBe(answer.AssumedRoleUser?.Arn)
  })

  test.each([
    ['the exact subject', [subject], true],
    ['a subject with wildcards', ['repo:shop/???:ref:*'], true],
    ['a prefix of the subject without a wildcard', ['repo:shop/web'], false],
    ['a dot in place of a character', ['repo:shop.web:ref:refs/heads/main'], false],
    ['another repository', ['repo:other/*', 'repo:shop/web:environment:*'], false],
  ])('a trust policy with %s admits the token: $2', async (_name, patterns, admitted) => {
    const { assume, tokenOf } = await trusting(patterns)
    const assumed = assume(await tokenOf())
    if (admitted) await expect(assumed).resolves.toBeDefined()
    else await expect(assumed).rejects.toMatchObject(AccessDenied)
  })

  test('denies an audience that only the identity provider accepts, and a role without web identities', async () => {
    const { control, assume, tokenOf } = await trusting()
    await expect(assume(await tokenOf({ audience: 'other' }))).rejects.toMatchObject(AccessDenied)
    const { arn } = await control.putRole({ account, name: 'plain' })
    const token = await tokenOf()
    await expect(assume(token, { RoleArn: arn })).rejects.toMatchObject(AccessDenied)
    await expect(assume(token, { RoleArn: `${arn}x` })).rejects.toMatchObject(AccessDenied)
    // a role that is written again without web identities loses them
    await control.putRole({ account, name: 'deploy', path: '/ci/' })
    await expect(assume(token)).rejects.toMatchObject(AccessDenied)
  })

  test.each([
    ['an unknown issuer', { issuer: 'https://gitlab.com' }, 'InvalidIdentityTokenException'],
    ['an audience that the identity provider lacks', { audience: 'vault' }, 'InvalidIdentityTokenException'],
    ['a lifetime that has ended', { ttlSeconds: 0 }, 'ExpiredTokenException'],
  ])('a token with %s is refused', async (_name, change, name) => {
    const { assume, tokenOf } = await trusting()
    await expect(assume(await tokenOf(change))).rejects.toMatchObject({
      name,
      $metadata: { httpStatusCode: 400 },
    })
  })

  test('refuses forged and malformed tokens', async () => {
    const { assume, tokenOf } = await trusting()
    const [header = '', payload = '', signature = ''] = (await tokenOf()).split('.')
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const forged = sign('sha256', Buffer.from(`${header}.${payload}`), privateKey).toString('base64url')
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url')
    const others = Buffer.from(payload, 'base64url').toString().replace('shop', 'evil')
    for (const token of [
      `${header}.${payload}.${forged}`,
      `${header}.${payload}.`,
      `${unsigned}.${payload}.${signature}`,
      `${header}.${Buffer.from(others).toString('base64url')}.${signature}`,
      `${header}.${payload}.${signature}.`,
      'four',
    ])
      await expect(assume(token), token).rejects.toMatchObject({ name: 'InvalidIdentityTokenException' })
  })

  test('checks the common parameters, and obeys faults and rate limits', async () => {
    const { control, assume, tokenOf } = await trusting()
    const token = await tokenOf()
    await expect(assume(token, { DurationSeconds: 1 })).rejects.toMatchObject({ name: 'ValidationError' })
    await expect(assume('a b')).rejects.toMatchObject({ name: 'ValidationError' })
    await control.fault({ service: 'sts', action: 'AssumeRoleWithWebIdentity', kind: 'throttle' })
    await expect(assume(token)).rejects.toMatchObject({ name: 'Throttling' })
    await control.limit({ service: 'sts', action: 'AssumeRoleWithWebIdentity', perSecond: 0, burst: 0 })
    await expect(assume(token)).rejects.toMatchObject({ name: 'Throttling' })
  })

  test('accepts both of two tokens that were issued at the same time', async () => {
    const { assume, tokenOf } = await trusting()
    for (const token of await Promise.all([tokenOf(), tokenOf()]))
      await expect(assume(token)).resolves.toBeDefined()
  })
})
