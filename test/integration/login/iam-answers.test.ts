import { describe, expect, test } from 'vitest'
import { errorsOf, NOT_ACCEPTED, signedBy } from '../../support/requests/logins.ts'
import { api, done, freshMount } from '../../support/service/cluster.ts'
import { type WhenDone, webServer } from '../../support/service/server.ts'

const ACCOUNT = '123456789012'
const ARN = `arn:aws:iam::${ACCOUNT}:user/bob`
const XMLNS = ' xmlns="https://sts.amazonaws.com/doc/2011-06-15/"'

const result = (arn = ARN, userId = 'AIDAEXAMPLE', account = ACCOUNT): string =>
  `<GetCallerIdentityResult><Arn>${arn}</Arn><UserId>${userId}</UserId><Account>${account}</Account></GetCallerIdentityResult>`
const answer = (inner = result(), xmlns = XMLNS): string =>
  `<GetCallerIdentityResponse${xmlns}>${inner}<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetCallerIdentityResponse>`

interface Answer {
  status?: number
  type?: string
  body?: string
  headers?: Record<string, string>
}

/** Creates a mount with this STS endpoint. */
async function mountAt(sts_endpoint: string): Promise<string> {
  const { path } = await freshMount()
  await done('POST', `${path}/config/client`, {
    sts_endpoint,
    sts_region: 'us-east-1',
    max_retries: 0,
  })
  await done('POST', `${path}/role/any`, {
    bound_iam_principal_arn: [ARN, `arn:aws:iam::${ACCOUNT}:role/app`, 'arn:aws:iam::999999999999:user/bob'],
    resolve_aws_unique_ids: false,
  })
  return path
}

/** Logs in at a mount whose STS returns the given answer. */
async function loginAt(
  whenDone: WhenDone,
  { status = 200, type = 'text/xml', body = answer(), headers = {} }: Answer,
) {
  const sts = await webServer(whenDone, (_request, response) => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(body)
  })
  const path = await mountAt(sts.url)
  const key = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }
  return { reply: await api('POST', `${path}/login`, { role: 'any', ...signedBy(key) }, { token: '' }), sts }
}

const UNEXPECTED = 'unexpected answer from STS'
const PRINCIPAL = 'only IAM users and assumed roles can log in'

describe('answers of STS are parsed strictly: CVE-2020-16250', () => {
  test.for<[string, Answer]>([
    ["in STS's format", {}],
    ['with an XML prolog', { body: `<?xml version="1.0" encoding="UTF-8"?>\n${answer()}\n` }],
    [
      'for a session',
      { body: answer(result(`arn:aws:sts::${ACCOUNT}:assumed-role/app/i-1@x`, 'AROAEXAMPLE:i-1@x')) },
    ],
    ['with character references', { body: answer(result('arn:aws:iam::123456789012:user&#x2f;bob')) }],
  ])('a login succeeds with an answer %s', async ([, given], { onTestFinished }) => {
    const { reply } = await loginAt(onTestFinished, given)
    expect(reply.status, reply.text).toBe(200)
  })

  const hostile: [string, Answer, string][] = [
    [
      'JSON',
      { type: 'application/json', body: JSON.stringify({ GetCallerIdentityResponse: {} }) },
      UNEXPECTED,
    ],
    ['XML with the type of JSON', { type: 'application/json' }, UNEXPECTED],
    ['XML with the type of HTML', { type: 'text/html' }, UNEXPECTED],
    ['XML with a character set', { type: 'text/xml; charset=utf-16' }, UNEXPECTED],
    ['no content type', { type: '' }, UNEXPECTED],
    ['nothing', { body: '' }, UNEXPECTED],
    ['words', { body: 'gibberish' }, UNEXPECTED],
    ['words before the XML', { body: `junk${answer()}` }, UNEXPECTED],
    ['words after the XML', { body: `${answer()}junk` }, UNEXPECTED],
    ['a second answer', { body: answer() + answer() }, UNEXPECTED],
    ['a comment before the XML', { body: `<!-- x -->${answer()}` }, UNEXPECTED],
    ['a comment in a value', { body: answer(result(`${ARN}<!-- x -->`)) }, UNEXPECTED],
    ['CDATA', { body: answer(result(`<![CDATA[${ARN}]]>`)) }, UNEXPECTED],
    ['a document type', { body: `<!DOCTYPE x>${answer()}` }, UNEXPECTED],
    [
      'an entity reference',
      { body: `<!DOCTYPE x [<!ENTITY e "${ARN}">]>${answer(result('&e;'))}` },
      UNEXPECTED,
    ],
    [
      'another root element',
      { body: answer().replaceAll('GetCallerIdentityResponse', 'AssumeRoleResponse') },
      UNEXPECTED,
    ],
    ['an answer nested in another document', { body: `<Other>${answer()}</Other>` }, UNEXPECTED],
    [
      'an answer nested in a value',
      { body: `<ErrorResponse><Error><Message>${answer()}</Message></Error></ErrorResponse>` },
      UNEXPECTED,
    ],
    ['another namespace', { body: answer(result(), ' xmlns="https://evil.example/"') }, UNEXPECTED],
    ['no namespace', { body: answer(result(), '') }, UNEXPECTED],
    ['no result', { body: answer('') }, UNEXPECTED],
    ['two results', { body: answer(result() + result()) }, UNEXPECTED],
    ['two ARNs', { body: answer(result(`${ARN}</Arn><Arn>${ARN}`)) }, UNEXPECTED],
    ['an empty user ID', { body: answer(result(ARN, '')) }, UNEXPECTED],
    ['a user ID that starts with a colon', { body: answer(result(ARN, ':x')) }, UNEXPECTED],
    [
      "an account that differs from the ARN's",
      { body: answer(result(ARN, 'AIDA', '999999999999')) },
      UNEXPECTED,
    ],
    ['more than 64 KiB', { body: answer(result(ARN, 'A'.repeat(70_000))) }, UNEXPECTED],
    ['status 301', { status: 301, headers: { location: 'http://127.0.0.1:1/' } }, 'STS answered 301'],
    ['status 400', { status: 400 }, NOT_ACCEPTED],
    ['status 201', { status: 201 }, 'STS answered 201'],
    [
      'an error with its own text',
      {
        status: 403,
        body: '<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code><Message>arn:aws:iam::1:role/secret</Message></Error></ErrorResponse>',
      },
      NOT_ACCEPTED,
    ],
    [
      'an error with an unknown code',
      { status: 403, body: '<ErrorResponse><Error><Code>Secret</Code></Error></ErrorResponse>' },
      NOT_ACCEPTED,
    ],
    ...[
      '',
      ':::::',
      'arn:aws:iam',
      `arn:aws:sts::${ACCOUNT}:assumed-role`,
      `arn:aws:sts::${ACCOUNT}:assumed-role/x`,
      `arn:aws:sts::${ACCOUNT}:assumed-role/x/y/z`,
      `arn:aws:sts::${ACCOUNT}:assumed-role/app/`,
      `arn:aws:sts::${ACCOUNT}:assumed-role/app/a b`,
      `arn:aws:sts::${ACCOUNT}:federated-user/bob`,
      `arn:aws:iam::${ACCOUNT}:root`,
      `arn:aws:iam::${ACCOUNT}:role/app`,
      `arn:aws:iam::${ACCOUNT}:instance-profile/app`,
      `arn:aws:iam::${ACCOUNT}:user/`,
      `arn:aws:iam::${ACCOUNT}:user/a:b`,
      `arn:aws:sts::${ACCOUNT}:user/bob`,
      `arn:aws:iam:us-east-1:${ACCOUNT}:user/bob`,
      `arn:evil:iam::${ACCOUNT}:user/bob`,
      'arn:aws:iam::1:user/bob',
      `ARN:aws:iam::${ACCOUNT}:user/bob`,
    ].map((arn): [string, Answer, string] => [
      `the ARN ${arn}`,
      { body: answer(result(arn)) },
      arn === '' ? UNEXPECTED : PRINCIPAL,
    ]),
  ]
  test.for(hostile)(
    'a login is rejected with an answer of %s',
    async ([, given, text], { onTestFinished }) => {
      const { reply, sts } = await loginAt(onTestFinished, given)
      expect([reply.status, errorsOf(reply)]).toEqual([400, text])
      expect(sts.requests).toHaveLength(1)
    },
  )

  test('an endless answer is cut off', async ({ onTestFinished }) => {
    const key = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'secret' }
    const sts = await webServer(onTestFinished, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' })
      const more = () => {
        if (!response.destroyed) response.write(' '.repeat(10_000), () => setImmediate(more))
      }
      more()
    })
    const mount = await mountAt(sts.url)
    const reply = await api('POST', `${mount}/login`, { role: 'any', ...signedBy(key) }, { token: '' })
    expect([reply.status, errorsOf(reply)]).toEqual([400, UNEXPECTED])
  })

  test('a redirect is not followed', async ({ onTestFinished }) => {
    const trap = await webServer(onTestFinished, (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' }).end(answer())
    })
    for (const status of [301, 302, 307, 308]) {
      const { reply } = await loginAt(onTestFinished, { status, headers: { location: `${trap.url}/` } })
      expect([reply.status, errorsOf(reply)]).toEqual([400, `STS answered ${status}`])
    }
    expect(trap.requests).toEqual([])
  })
})
