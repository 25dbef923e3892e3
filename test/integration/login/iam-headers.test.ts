import { beforeAll, describe, expect, test } from 'vitest'
import type { TestKey } from '../../provider/hand-signer.ts'
import {
  callWatch,
  errorsOf,
  iamFields,
  type SignOptions,
  signCallerIdentity,
} from '../../support/requests/logins.ts'
import { api, aws, done, freshAccount, freshMount } from '../../support/service/cluster.ts'

const ID = 'login.example.com'
const OURS = 'X-Service-Cloud-IAM-Server-ID'
const THEIRS = 'X-Vault-AWS-IAM-Server-ID'

const account = freshAccount()
let key: TestKey
beforeAll(async () => {
  await aws.putUser({ account, name: 'bob' })
  key = await aws.createAccessKey({ account, user: 'bob' })
})

/** Creates a mount with a configuration and a role `bob` for the user. */
async function mountWith(config: object | undefined): Promise<string> {
  const { path } = await freshMount()
  if (config) await done('POST', `${path}/config/client`, config)
  await done('POST', `${path}/role/bob`, {
    bound_iam_principal_arn: `arn:aws:iam::${account}:user/bob`,
    resolve_aws_unique_ids: false,
  })
  return path
}

type Headers = [string, string][]

const login = (mount: string, signed: Headers, unsigned: Headers, options: SignOptions = {}) => {
  const request = signCallerIdentity(key, { ...options, headers: signed })
  const fields = iamFields({ ...request, headers: [...request.headers, ...unsigned] })
  return api('POST', `${mount}/login`, { role: 'bob', ...fields }, { token: '' })
}

describe('the server ID header of an iam login', () => {
  let mount = ''
  beforeAll(async () => {
    mount = await mountWith({ iam_server_id_header_value: ID })
  })

  const next = (name = OURS) => `sign the request with ${name} set to the mount’s iam_server_id_header_value`
  const missing = `the header ${OURS} is missing: ${next()}`
  const mismatch = `the header ${OURS} does not have the expected value: ${next()}`
  const unsigned = `the header ${OURS} is not among the signed headers: ${next()}`
  const rows: [string, Headers, Headers, string][] = [
    ['missing', [], [], missing],
    ['signed under our name', [[OURS, ID]], [], ''],
    ["signed under Vault's name", [[THEIRS, ID]], [], ''],
    ['signed in lower case', [[OURS.toLowerCase(), ID]], [], ''],
    [
      'both names signed',
      [
        [OURS, ID],
        [THEIRS, ID],
      ],
      [],
      '',
    ],
    ['a wrong value', [[OURS, 'other.example.com']], [], mismatch],
    ['the value in other letter case', [[OURS, ID.toUpperCase()]], [], mismatch],
    ['a value that starts with the right one', [[OURS, `${ID}.evil.example`]], [], mismatch],
    ['an empty value', [[OURS, '']], [], mismatch],
    ["a wrong value under Vault's name", [[THEIRS, 'x']], [], mismatch.replaceAll(OURS, THEIRS)],
    ['unsigned', [], [[OURS, ID]], unsigned],
    [
      'both names unsigned',
      [],
      [
        [OURS, ID],
        [THEIRS, ID],
      ],
      unsigned,
    ],
    [
      'one name signed for another server, the other added unsigned',
      [[OURS, 'other.example.com']],
      [[THEIRS, ID]],
      mismatch,
    ],
    [
      'signed for another server, the right value added in lower case',
      [[OURS, 'other.example.com']],
      [[OURS.toLowerCase(), ID]],
      mismatch,
    ],
    ['a name that starts with the right one', [[`${OURS}-X`, ID]], [], missing],
  ]
  describe.each(['POST', 'GET'] as const)('%s', method => {
    test.each(rows)('%s', async (_name, signed, added, text) => {
      const answer = await login(mount, signed, added, { method })
      expect([answer.status, errorsOf(answer)]).toEqual([text === '' ? 200 : 400, text])
    })
  })

  test.each([
    ['cloud', OURS],
    ['aws', THEIRS],
    ['aws-ec2', THEIRS],
  ])('the error for a missing header at a mount of type %s names %s', async (type, name) => {
    const { path } = await freshMount(type)
    await done('POST', `${path}/config/client`, {
      iam_server_id_header_value: ID,
    })
    const answer = await login(path, [], [])
    expect([answer.status, errorsOf(answer)]).toEqual([400, `the header ${name} is missing: ${next(name)}`])
  })

  test('a second SignedHeaders does not make an unsigned header count', async () => {
    const request = signCallerIdentity(key)
    const headers = request.headers.map(([name, value]): [string, string] => [
      name,
      name === 'Authorization' ? `${value}, SignedHeaders=${OURS.toLowerCase()}` : value,
    ])
    const fields = iamFields({ ...request, headers: [...headers, [OURS, ID]] })
    const answer = await api('POST', `${mount}/login`, { role: 'bob', ...fields }, { token: '' })
    expect([answer.status, errorsOf(answer)]).toEqual([
      400,
      'iam_request_headers: Authorization is not an AWS signature, version 4',
    ])
  })

  test('errors do not contain the expected value, and STS is not called', async () => {
    const watch = callWatch()
    await watch()
    for (const [, signed, added, text] of rows.filter(row => row[3] !== '')) {
      expect((await login(mount, signed, added)).text, text).not.toContain(ID)
    }
    expect((await watch()).filter(call => call.account === account)).toEqual([])
  })

  test('without iam_server_id_header_value the header is not checked', async () => {
    const open = await mountWith({ iam_server_id_header_value: '' })
    expect((await login(open, [], [])).status).toBe(200)
    expect((await login(open, [[OURS, 'anything']], [])).status).toBe(200)
    expect((await login(open, [], [[OURS, 'anything']])).status).toBe(200)
  })
})

describe('headers that a client may send to STS: CVE-2020-16250', () => {
  const refused = (name: string) => `header "${name}" is not allowed in the request`

  test.each([
    ['no client configuration (GH-23366)', undefined],
    ['a client configuration without the list', { max_retries: 1 }],
  ])('an unlisted X-Amz- header is rejected with %s', async (_name, config) => {
    const mount = await mountWith(config)
    for (const headers of [[['X-Amz-Mallory-Header', '1']], [['x-amz-target', 'x']]] as Headers[]) {
      const name = headers[0]?.[0].replace('x-amz-target', 'X-Amz-Target') ?? ''
      for (const answer of [await login(mount, headers, []), await login(mount, [], headers)]) {
        expect([answer.status, errorsOf(answer)]).toEqual([400, refused(name)])
      }
    }
    expect((await login(mount, [['X-Amz-User-Agent', 'mine']], [])).status).toBe(200)
  })

  test('a listed header is accepted and sent to STS', async () => {
    const mount = await mountWith({ allowed_sts_header_values: 'x-amz-mallory-header, X-Custom' })
    const answer = await login(mount, [['X-Amz-Mallory-Header', '1']], [['X-Custom', '2']])
    expect(answer.status, answer.text).toBe(200)
    const sent = (await aws.calls()).calls.findLast(call => call.account === account)
    expect(sent?.headers).toMatchObject({ 'x-amz-mallory-header': '1', 'x-custom': '2' })
    expect(errorsOf(await login(mount, [['X-Amz-Other', '1']], []))).toBe(refused('X-Amz-Other'))
  })

  test.each([
    ['Accept', 'application/json'],
    ['Content-Length', '7'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Expect', '100-continue'],
    ['Proxy-Authorization', 'x'],
  ])(
    'a signed %s of %s is rejected, because the server cannot forward this header as signed',
    async (name, value) => {
      const mount = await mountWith(undefined)
      const answer = await login(mount, [[name, value]], [])
      expect(answer.status).toBe(400)
      expect(errorsOf(answer)).toMatch(/cannot be sent to STS as it was signed$/)
    },
  )

  test('a query parameter needs the same permission', async () => {
    const query = 'Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Mallory=1'
    const [closed, open] = [
      await mountWith(undefined),
      await mountWith({ allowed_sts_header_values: 'X-Amz-Mallory' }),
    ]
    expect(errorsOf(await login(closed, [], [], { method: 'GET', query }))).toBe(
      'a query parameter of iam_request_url is not allowed',
    )
    expect((await login(open, [], [], { method: 'GET', query })).status).toBe(200)
  })
})
