import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  certificateIssuerName,
  encodeCertificate,
  rsaSha256,
  toCertificatePem,
} from '../../../infra/local/provider/documents/certificate.ts'
import type { StoredIssuer } from '../../../shared/model/jwt.ts'
import { createItem } from '../../../shared/storage/changes.ts'
import { key } from '../../../shared/storage/kinds.ts'
import { storedIssuer } from '../../builders/jwt-settings.ts'
import { keys } from '../../builders/keys.ts'
import { HOME, satellite } from '../../support/requests/logins.ts'
import {
  APP,
  cleanMount,
  cleanRoles,
  jwtConfig,
  type Review,
  reviewOf,
  reviewOfRole,
  verdictsOf,
} from '../../support/requests/reviews.ts'
import { clock } from '../../support/service/clock.ts'
import {
  api,
  aws,
  cluster,
  done,
  fresh,
  freshAccount,
  freshMount,
  tokenWith,
} from '../../support/service/cluster.ts'
import { tableStore } from '../../support/tables/store.ts'

const DAY = 86_400_000

// on a busy machine the time would be up
beforeAll(clock.stop)
afterAll(clock.reset)

function endingCertificate(): string {
  const { publicKey, privateKey } = keys.rsa(2048)
  const facts = { publicKey, subject: certificateIssuerName, issuer: certificateIssuerName, serial: 1n }
  const validity = [Date.now() - DAY, Date.now() + 10.5 * DAY] as const
  return toCertificatePem(encodeCertificate({ ...facts, validity, extensions: [] }, privateKey, rsaSha256))
}

interface Mount {
  path: string
  accessor: string
}

/** Stores an issuer, as a login or an earlier fetch would. */
async function storeIssuer({ accessor }: Mount, more: Partial<StoredIssuer>): Promise<string> {
  const id = randomUUID()
  await tableStore(cluster).commit(
    createItem(key('issuer', accessor, id), storedIssuer(freshAccount(), more)),
  )
  return `config/jwt/issuer/${id}`
}

type Plant = [rule: string, role: string, body: object]

const { iam, ec2, jwt } = cleanRoles
const short = { token_policies: 'dev', token_max_ttl: '1h' }
const ALL = `arn:aws:iam::${HOME.account}:role/*`
const IN_PATH = `arn:aws:iam::${HOME.account}:role/team/reviewed-in-path`
const eks = `arn:aws:eks:eu-west-1:${HOME.account}:cluster/blue`

/** Roles with one weakness each. */
const plantedRoles: Plant[] = [
  [
    'tags-without-principal',
    'tags',
    {
      ...jwt,
      bound_iam_principal_arn: '',
      bound_account_id: HOME.account,
      bound_principal_tags: { team: 'a' },
    },
  ],
  [
    'tags-without-principal',
    'tagged',
    { ...jwt, bound_iam_principal_arn: ALL, bound_principal_tags: { team: 'a' } },
  ],
  ['whole-account', 'all', { ...iam, bound_iam_principal_arn: [APP, ALL] }],
  [
    'whole-account',
    'inferred',
    {
      bound_account_id: HOME.account,
      inferred_entity_type: 'ec2_instance',
      inferred_aws_region: 'eu-west-1',
      ...short,
    },
  ],
  [
    'whole-account',
    'functions',
    {
      ...jwt,
      bound_iam_principal_arn: '',
      bound_account_id: HOME.account,
      bound_lambda_function_arn: 'arn:aws:lambda:*',
      bound_metadata_version: 2,
    },
  ],
  ['whole-account', 'wide', { ...ec2, bound_vpc_id: '', bound_account_id: HOME.account }],
  ['wildcard-principal', 'wild', { ...iam, bound_iam_principal_arn: `${APP}*` }],
  ['no-nonce', 'again', { ...ec2, disallow_reauthentication: false }],
  ['long-life', 'long', { ...iam, token_max_ttl: '25h' }],
  [
    'long-life',
    'renewed',
    { ...jwt, token_policies: ['default', 'team-{{x}}-*'], token_ttl: '1h', token_max_ttl: '48h' },
  ],
  ['long-life', 'explicit', { ...iam, token_max_ttl: 0, token_explicit_max_ttl: '25h' }],
  ['periodic-jwt', 'periodic', { ...jwt, token_period: '1h' }],
  ['by-name', 'named', { ...iam, resolve_aws_unique_ids: false }],
  ['session-tags', 'pods', { ...jwt, bound_iam_principal_arn: `${APP}-tagged`, bound_eks_cluster_arn: eks }],
  [
    'session-tags',
    'pods-by-tags',
    {
      ...jwt,
      bound_iam_principal_arn: `${APP}-tagged`,
      bound_principal_tags: { 'kubernetes-namespace': 'shop' },
    },
  ],
  ['principal-changed', 'moved', { ...jwt, bound_iam_principal_arn: [APP, `${APP}-in-path`] }],
  ['principal-changed', 'gone', { ...jwt, bound_iam_principal_arn: `${APP}-gone` }],
]

/** Roles in which a review finds nothing, although they look like the roles above. */
const soundRoles: [title: string, body: object][] = [
  [
    'batch tokens with a long maximum',
    { ...iam, token_type: 'batch', token_ttl: '1h', token_max_ttl: '48h' },
  ],
  ['a long maximum for the policy default', { ...iam, token_policies: 'Default', token_max_ttl: '48h' }],
  ['tokens that end with the session', { ...jwt, cap_to_session: true, token_max_ttl: '48h' }],
  ['periodic tokens with an explicit end', { ...jwt, token_period: '1h', token_explicit_max_ttl: '24h' }],
  ['a principal by its unique ID and its ARN with path', { ...iam, bound_iam_principal_arn: IN_PATH }],
  ['a principal by its ARN with path', { ...jwt, bound_iam_principal_arn: IN_PATH }],
  [
    'people of a permission set',
    { ...jwt, bound_iam_principal_arn: `${APP}_*`, bound_identity_store_user_id: 'u' },
  ],
  ['an instance of an account', { ...ec2, bound_vpc_id: '', bound_ec2_instance_id: 'i-1' }],
  ['EKS alone', { ...jwt, bound_iam_principal_arn: `${APP}-pods`, bound_eks_cluster_arn: eks }],
]

const seen = ({ findings }: Review) => findings.map(({ rule, subject }) => `${rule} ${subject}`)

describe('a review of a mount', () => {
  let mount: Mount
  beforeAll(async () => {
    mount = await cleanMount()
    const trusting = (Principal: unknown) =>
      JSON.stringify({ Statement: { Effect: 'Allow', Principal, Action: 'sts:*' } })
    const { account } = HOME
    await aws.putRole({ account, name: 'reviewed-tagged', trustPolicy: trusting('*') })
    const pods = trusting({ Service: 'pods.eks.amazonaws.com' })
    await aws.putRole({ account, name: 'reviewed-pods', trustPolicy: pods })
    await aws.putRole({ account, name: 'reviewed-in-path', path: '/team/' })
  })

  test('finds nothing in a clean mount, and asks every rule', async () => {
    const review = await reviewOf(mount.path)
    expect(review.findings).toEqual([])
    const { 'unused-role': ofUses, ...verdicts } = verdictsOf(review)
    expect(new Set(Object.values(verdicts))).toEqual(new Set(['clean']))
    expect(ofUses).toBe('not asked: config/review does not track uses')
  })

  test('does not ask IAM without ask_aws', async () => {
    const verdicts = verdictsOf(await reviewOf(mount.path, ''))
    const ofIam = 'not asked: ask_aws is not set'
    expect(verdicts).toMatchObject({ 'session-tags': ofIam, 'principal-changed': ofIam, 'by-name': 'clean' })
  })

  test.each(plantedRoles)(
    'finds %s once, in the same way before and after the write',
    async (rule, role, body) => {
      const before = await reviewOfRole(mount.path, { role, ...body })
      expect((await api('GET', `${mount.path}/role/${role}`)).status).toBe(404)
      expect(seen(before)).toEqual([`${rule} role/${role}`])
      await done('POST', `${mount.path}/role/${role}`, body)
      const after = await reviewOf(mount.path)
      expect(after.findings).toEqual(before.findings)
      expect(after.rules.filter(({ verdict }) => verdict === 'found')).toEqual([
        { rule, severity: after.findings[0]?.severity, verdict: 'found', findings: 1 },
      ])
      await done('DELETE', `${mount.path}/role/${role}`)
    },
  )

  test.each(soundRoles)('finds nothing in a role with %s', async (_, body) => {
    expect(seen(await reviewOfRole(mount.path, body))).toEqual([])
  })

  test('compares a name without its path with the names of logins', async () => {
    const body = { ...iam, resolve_aws_unique_ids: false, bound_iam_principal_arn: `${APP}-in-path` }
    expect(seen(await reviewOfRole(mount.path, { role: 'named', ...body }))).toEqual(['by-name role/named'])
  })

  test('finds nothing about the keys of a blocked account', async () => {
    const planted = await cleanMount()
    const account = freshAccount()
    await storeIssuer(planted, { lastError: 'status', account })
    await done('POST', `${planted.path}/config/jwt`, { blocked_accounts: account })
    expect(seen(await reviewOf(planted.path))).toEqual([])
  })

  test.each<[string, (mount: Mount) => Promise<string>]>([
    [
      'no-server-id',
      async ({ path }) => {
        await done('POST', `${path}/config/client`, { iam_server_id_header_value: '' })
        return 'config'
      },
    ],
    ['no-external-id', async ({ path }) => `config/sts/${await satellite(path)}`],
    [
      'no-external-id',
      async ({ accessor }) => {
        const role = `arn:aws:iam::${HOME.account}:role/organization`
        const config = { role, externalId: '', maxAge: 3600 }
        await tableStore(cluster).commit(createItem(key('organization-config', accessor), config))
        return 'config/organization'
      },
    ],
    ['issuer-fault', planted => storeIssuer(planted, { lastError: 'status' })],
    ['issuer-replaced', planted => storeIssuer(planted, { superseded: true })],
    [
      'map-stale',
      async ({ accessor }) => {
        const map = { accounts: 1, completedAt: clock.now() - 2 * 3_600_000, maxAge: 3600 }
        await tableStore(cluster).commit(createItem(key('organization-map', accessor), map))
        return 'config'
      },
    ],
    [
      'weak-certificate',
      async ({ path }) => {
        await done('POST', `${path}/config/certificate/dsa`, {
          cloud_public_cert: (await aws.authority()).dsa,
        })
        return 'config/certificate/dsa'
      },
    ],
    [
      'certificate-ends',
      async ({ path }) => {
        await done('POST', `${path}/config/certificate/ends`, { cloud_public_cert: endingCertificate() })
        return 'config/certificate/ends'
      },
    ],
    ['several-audiences', configured({ allow_several_audiences: true })],
    ['reusable-tokens', configured({ single_use: false })],
    ['es384-on', configured({ jwt_supported_algs: 'RS256,ES384' })],
    [
      'principal-changed',
      async ({ path }) => {
        const name = fresh('again')
        const arn = `arn:aws:iam::${HOME.account}:role/${name}`
        await aws.putRole({ account: HOME.account, name })
        await done('POST', `${path}/role/${name}`, { ...iam, bound_iam_principal_arn: [APP, arn] })
        await aws.deleteRole({ account: HOME.account, name })
        await aws.putRole({ account: HOME.account, name })
        return `role/${name}`
      },
    ],
  ])('finds %s once', async (rule, plant) => {
    const planted = await cleanMount()
    const subject = await plant(planted)
    expect(seen(await reviewOf(planted.path))).toEqual([`${rule} ${subject}`])
  })

  test('finds nothing in a mount that nobody configured', async () => {
    const { path } = await freshMount()
    expect((await reviewOf(path)).findings).toEqual([])
  })
})

function configured(setting: object): (mount: Mount) => Promise<string> {
  return async ({ path }) => {
    await done('POST', `${path}/config/jwt`, { ...jwtConfig, ...setting })
    return 'config'
  }
}

describe('a review of a role', () => {
  let mount = ''
  beforeAll(async () => {
    ;({ path: mount } = await cleanMount())
  })

  test('merges the body into the stored role, as a write does', async () => {
    const { findings } = await reviewOfRole(mount, { role: 'IAM', token_max_ttl: '48h' })
    expect(findings).toMatchObject([{ rule: 'long-life', subject: 'role/iam' }])
    expect((await done('GET', `${mount}/role/iam`)).body.data).toMatchObject({ token_max_ttl: 3600 })
  })

  test('refuses a body that a write refuses, with the same text', async () => {
    for (const body of [{}, { ...ec2, role_tag: 'x'.repeat(200) }, { ...jwt, bound_iam_principal_arn: '' }]) {
      const [judged, written] = [
        await api('POST', `${mount}/review`, { ...body, role: 'new' }),
        await api('POST', `${mount}/role/new`, body),
      ]
      expect([judged.status, judged.body.errors]).toEqual([400, written.body.errors])
    }
  })

  test('judges only the role, and rules that the role alone does not decide are not asked', async () => {
    const { path } = await freshMount()
    const review = await reviewOfRole(path, iam)
    expect(seen(review)).toEqual(['no-server-id config'])
    const only = 'not asked: only the role was judged'
    expect(verdictsOf(review)).toMatchObject({
      'no-server-id': 'found: only the role was judged',
      'reusable-tokens': only,
      'no-external-id': only,
      'issuer-fault': only,
      'weak-certificate': only,
      'es384-on': only,
      'whole-account': 'clean',
    })
  })

  test.each([
    ['', 'role/'],
    ['../config/client', 'role/..%2Fconfig%2Fclient'],
    ['"<b>\u0000\n', 'role/%22%3Cb%3E%00%0A'],
    ['__proto__', 'role/__proto__'],
  ])('returns the name %j as a path', async (role, subject) => {
    const { findings } = await reviewOfRole(mount, { role, ...ec2, disallow_reauthentication: false })
    expect(findings.map(one => one.subject)).toEqual([subject])
  })
})

describe('a review that cannot ask IAM', () => {
  test('says so for a throttled account, and still judges principals of other accounts', async () => {
    const { path } = await cleanMount()
    const account = await satellite(path, 'external')
    await aws.fault({ service: 'iam', account, kind: 'throttle', times: 99 })
    const arns = ['a', 'b', 'c'].map(name => `arn:aws:iam::${account}:role/${name}`)
    await done('POST', `${path}/role/far`, { ...jwt, bound_iam_principal_arn: [...arns, `${APP}-gone`] })
    const review = await reviewOf(path)
    const why = `IAM did not answer about 3 principals; account ${account}: IAM is throttling requests`
    expect(verdictsOf(review)).toMatchObject({
      'principal-changed': `found: ${why}`,
      'session-tags': `not asked: ${why}`,
    })
    expect(review.findings.map(({ text }) => text)).toEqual([`IAM has no ${APP}-gone`])
  })

  test('names each account that has not answered', async () => {
    const { path } = await cleanMount()
    const accounts = [await satellite(path, 'external'), await satellite(path, 'external')]
    await aws.fault({ service: 'iam', account: accounts[0] ?? '', kind: 'throttle', times: 99 })
    const reader = `arn:aws:iam::${accounts[1]}:role/cloud-auth-reader`
    await aws.deny({ principalArn: reader, action: 'iam:GetRole' })
    const arns = accounts.map(account => `arn:aws:iam::${account}:role/a`)
    await done('POST', `${path}/role/far`, { ...jwt, bound_iam_principal_arn: arns })
    expect(verdictsOf(await reviewOf(path))['session-tags']).toMatch(
      new RegExp(`about 2 principals; account ${accounts[0]}: .*, account ${accounts[1]}: .*AccessDenied`),
    )
  })

  test('says so for an account without a role to assume', async () => {
    const { path } = await cleanMount()
    const account = freshAccount()
    await done('POST', `${path}/role/far`, {
      ...jwt,
      bound_iam_principal_arn: `arn:aws:iam::${account}:role/a`,
    })
    expect(verdictsOf(await reviewOf(path))['principal-changed']).toMatch(
      `not asked: IAM did not answer about 1 principals; account ${account}: `,
    )
  })
})

test('a review needs read or update on its path, which the default policy does not give', async () => {
  const { path } = await cleanMount()
  const statuses = async (token: string) => [
    (await api('GET', `${path}/review`, undefined, { token })).status,
    (await api('POST', `${path}/review`, cleanRoles.iam, { token })).status,
  ]
  const policy = (capability: string) =>
    tokenWith(`path "${path.slice(1)}/review" { capabilities = ["${capability}"] }`)
  expect(await statuses(await policy('read'))).toEqual([200, 403])
  expect(await statuses(await policy('update'))).toEqual([403, 200])
  const { body } = await done('POST', '/auth/token/create', { policies: ['default'], no_parent: true })
  expect(await statuses(body.auth.client_token)).toEqual([403, 403])
})
