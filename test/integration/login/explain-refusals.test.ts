import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, HOME, launch, restart, signedBy } from '../../support/requests/logins.ts'
import {
  acceptTokens,
  ORGANIZATION,
  type TokenAccount,
  tokenAccount,
  tokenOf,
} from '../../support/requests/web-tokens.ts'
import { aws, done, freshAccount, freshInstanceId } from '../../support/service/cluster.ts'
import { explained, fails, of } from './explained.ts'

let w: Awaited<ReturnType<typeof explained>>
let from: TokenAccount
beforeAll(async () => {
  w = await explained()
  await acceptTokens(w.mount)
  from = await tokenAccount()
})

type Case = [name: string, arrange: () => Promise<{ role: string; body: object }>]

const gone = async () => {
  const instance = await launch({ pendingTime: '2020-01-01T00:00:00Z' })
  const body = await of(instance)
  await aws.deleteInstance(instance)
  return body
}

const ec2Cases: Case[] = [
  ['no proof', async () => ({ role: await w.ec2Role(), body: {} })],
  [
    'fields of both login types',
    async () => ({ role: await w.ec2Role(), body: { pkcs7: 'x', ...signedBy(w.bob) } }),
  ],
  ['a malformed pkcs7', async () => ({ role: await w.ec2Role(), body: { pkcs7: 'x' } })],
  [
    'an untrusted signature',
    async () => {
      const body = await of(await launch())
      const bytes = Buffer.from(body.pkcs7, 'base64')
      bytes[bytes.length - 40] = (bytes.at(-40) ?? 0) ^ 1
      return { role: await w.ec2Role(), body: { pkcs7: bytes.toString('base64') } }
    },
  ],
  [
    'a signed text that is not an identity document',
    async () => ({
      role: await w.ec2Role(),
      body: { pkcs7: (await aws.signDocument({ document: '{}' })).rsa2048 },
    }),
  ],
  [
    'a client address outside the bound CIDRs',
    async () => ({
      role: await w.ec2Role({ token_bound_cidrs: '10.0.0.0/8' }),
      body: await of(await launch()),
    }),
  ],
  ['a role of the other type', async () => ({ role: await w.iamRole(), body: await of(await launch()) })],
  [
    'a region that is not bound',
    async () => ({ role: await w.ec2Role({ bound_region: 'eu-west-1' }), body: await of(await launch()) }),
  ],
  [
    'an AMI that is not bound',
    async () => ({ role: await w.ec2Role({ bound_ami_id: 'ami-x' }), body: await of(await launch()) }),
  ],
  [
    'an instance without a profile',
    async () => ({ role: await w.ec2Role({ bound_iam_role_arn: '*' }), body: await of(await launch()) }),
  ],
  ['an unknown instance', async () => ({ role: await w.ec2Role(), body: await gone() })],
  [
    'a stopped instance',
    async () => ({ role: await w.ec2Role(), body: await of(await launch({ state: 'stopped' })) }),
  ],
  [
    'an account without an STS role',
    async () => ({
      role: await w.ec2Role({ bound_account_id: [], bound_region: HOME.region }),
      body: await of(await launch({ account: freshAccount() })),
    }),
  ],
  [
    'a wrong nonce',
    async () => {
      const [role, body] = [await w.ec2Role(), await of(await launch())]
      await w.login(role, { ...body, nonce: 'right' })
      return { role, body: { ...body, nonce: 'wrong' } }
    },
  ],
  [
    'a document older than the last login',
    async () => {
      const [role, instance] = [await w.ec2Role(), await launch()]
      await w.login(role, { ...(await of(instance)), nonce: 'right' })
      return { role, body: { ...(await of(await restart(instance, -5))), nonce: 'right' } }
    },
  ],
  [
    'a login after reauthentication was disallowed',
    async () => {
      const [role, body] = [await w.ec2Role({ disallow_reauthentication: true }), await of(await launch())]
      await w.login(role, body)
      return { role, body }
    },
  ],
  [
    'a nonce over 128 characters',
    async () => ({
      role: await w.ec2Role(),
      body: { ...(await of(await launch())), nonce: 'x'.repeat(129) },
    }),
  ],
  [
    'an instance without the role tag',
    async () => ({ role: await w.ec2Role({ role_tag: 'R' }), body: await of(await launch()) }),
  ],
  [
    'a forged role tag',
    async () => ({
      role: await w.ec2Role({ role_tag: 'R' }),
      body: await of(await launch({ tags: { R: 'v1:x' } })),
    }),
  ],
  [
    'a disabled entity',
    async () => {
      const role = await w.ec2Role()
      const { auth } = (await w.login(role, await of(await launch()))).body
      await done('POST', `/identity/entity/id/${auth.entity_id}`, { disabled: true })
      return { role, body: await of(await launch()) }
    },
  ],
]

const sessionOf = async (name: string) => {
  await aws.putRole({ account: w.account, name: 'app' })
  return signedBy(await aws.session({ account: w.account, role: 'app', session: name }))
}
const inferring = (values: object = {}) =>
  w.roleWith({
    inferred_entity_type: 'ec2_instance',
    inferred_aws_region: HOME.region,
    bound_account_id: w.account,
    ...values,
  })

const iamCases: Case[] = [
  [
    'an action other than GetCallerIdentity',
    async () => ({
      role: await w.iamRole(),
      body: signedBy(w.bob, { body: 'Action=GetSessionToken&Version=2011-06-15' }),
    }),
  ],
  [
    'a host that is not STS',
    async () => ({ role: await w.iamRole(), body: signedBy(w.bob, { host: 'evil.example' }) }),
  ],
  [
    'a header that is not allowed',
    async () => ({ role: await w.iamRole(), body: signedBy(w.bob, { headers: [['X-Amz-Evil', '1']] }) }),
  ],
  [
    'a signature with a wrong secret key',
    async () => ({ role: await w.iamRole(), body: signedBy({ ...w.bob, secretAccessKey: 'x' }) }),
  ],
  [
    'an old signature',
    async () => ({ role: await w.iamRole(), body: signedBy(w.bob, { at: Date.now() - 3_600_000 }) }),
  ],
  [
    'the root user',
    async () => ({ role: await w.iamRole(), body: signedBy(await aws.rootKey({ account: w.account })) }),
  ],
  ['a role of the other type', async () => ({ role: await w.ec2Role(), body: signedBy(w.bob) })],
  [
    'a principal that is not bound',
    async () => ({ role: await w.iamRole(), body: await sessionOf('worker') }),
  ],
  [
    'a principal with another path',
    async () => ({
      role: await w.iamRole({ bound_iam_principal_arn: `arn:aws:iam::${w.account}:role/other/*` }),
      body: await sessionOf('worker'),
    }),
  ],
  [
    'an account without an STS role',
    async () => {
      const foreign = freshAccount()
      await aws.putUser({ account: foreign, name: 'bob' })
      const key = await aws.createAccessKey({ account: foreign, user: 'bob' })
      const bound_iam_principal_arn = `arn:aws:iam::${foreign}:user/*`
      return { role: await w.iamRole({ bound_iam_principal_arn }), body: signedBy(key) }
    },
  ],
  [
    'a session name that is not an instance ID',
    async () => ({ role: await inferring(), body: await sessionOf('worker') }),
  ],
  [
    'a session name of an unknown instance',
    async () => ({ role: await inferring(), body: await sessionOf(freshInstanceId()) }),
  ],
  [
    'an inferred instance with another AMI',
    async () => ({
      role: await inferring({ bound_ami_id: 'ami-x' }),
      body: await sessionOf((await launch({ account: w.account })).instanceId),
    }),
  ],
]

type TokenClaims = Parameters<typeof tokenOf>[1]

const tokenCase = (name: string, claims: TokenClaims, bounds: object = {}): Case => [
  `a token with ${name}`,
  async () => ({
    role: await w.roleWith({ auth_type: 'jwt', bound_organization_id: ORGANIZATION, ...bounds }),
    body: { jwt: await tokenOf(from, claims) },
  }),
]

const jwtCases: Case[] = [
  tokenCase('another audience', { aud: 'https://other.example' }),
  tokenCase('an old time', { iat: 1, exp: 301 }),
  tokenCase('a later time', { iat: 4_000_000_000, exp: 4_000_000_300 }),
  tokenCase('a subject of another provider', { aws: { principal_id: 'arn:aws:iam::111122223333:role/x' } }),
  tokenCase('a subject that is no principal', { sub: 'alice' }),
  tokenCase('another account', { aws: { aws_account: '999988887777' } }),
  tokenCase('an unknown issuer of another organization', { aws: { org_id: 'o-zzzzzzzzzz' } }),
  tokenCase('another function', {}, { bound_lambda_function_arn: 'arn:aws:lambda:*' }),
  tokenCase('no end of a session', {}, { cap_to_session: true }),
  tokenCase('two missing claims', {}, { bound_vpc_id: 'vpc-1', bound_principal_tags: { team: 'a' } }),
  tokenCase('another network', {}, { token_bound_cidrs: '10.0.0.0/8' }),
  [
    'a token for a role of another type',
    async () => ({ role: await w.iamRole(), body: { jwt: await tokenOf(from) } }),
  ],
  [
    'a token with a changed signature',
    async () => {
      const role = await w.roleWith({ auth_type: 'jwt', bound_account_id: from.account })
      return { role, body: { jwt: `${(await tokenOf(from)).slice(0, -6)}AAAAAA` } }
    },
  ],
  [
    'a used token',
    async () => {
      const role = await w.roleWith({ auth_type: 'jwt', bound_account_id: from.account })
      const body = { jwt: await tokenOf(from) }
      expect((await w.login(role, body)).status).toBe(200)
      return { role, body }
    },
  ],
]

/** Replaces the signature's age, because a second may pass between two answers. */
const ageless = (told: unknown): unknown =>
  JSON.parse(JSON.stringify(told), (name, value) => (name === 'age' ? 'some seconds' : value))

describe('explain reports the same error as the login: POST role/:role/explain', () => {
  test.each([...ec2Cases, ...iamCases, ...jwtCases])('%s', async (_name, arrange) => {
    const { role, body } = await arrange()
    const told = await w.explain(role, body)
    const real = await w.login(role, body)
    expect(real.status).toBeGreaterThanOrEqual(400)
    expect(told).toMatchObject({ login_would_succeed: false, token: null })
    expect(fails(told.checks)[0]?.message).toBe(errorsOf(real))
    expect(ageless(await w.explain(role, body))).toEqual(ageless(told))
  })
})
