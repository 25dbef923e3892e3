import { beforeAll, describe, expect, test } from 'vitest'
import {
  errorsOf,
  HOME,
  launch,
  noMessage,
  pkcs7Of,
  placeOf,
  UNPROVEN,
} from '../../support/requests/logins.ts'
import {
  api,
  aws,
  done,
  freshInstanceId,
  freshMount,
  localCertificate,
} from '../../support/service/cluster.ts'

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64')
const document = (values: object = {}): string =>
  JSON.stringify({
    accountId: HOME.account,
    region: HOME.region,
    instanceId: freshInstanceId(),
    imageId: 'ami-1',
    pendingTime: '2026-01-01T00:00:00Z',
    ...values,
  })

describe('ec2 login with a proof', () => {
  let mount = ''
  let instance: Awaited<ReturnType<typeof launch>>
  let pkcs7 = ''
  let signed: Awaited<ReturnType<typeof aws.documents>>
  const login = (body: unknown, verb = 'POST') =>
    api(verb, `${mount}/login`, body, { token: 'hvs.not-even-looked-at' })
  const proofOf = (more: object) => ({ role: 'web', nonce: 'the same', ...more })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    const { rsa, dsa } = await aws.authority()
    await done('POST', `${mount}/config/certificate/local`, { cloud_public_cert: await localCertificate() })
    await done('POST', `${mount}/config/certificate/dsa`, { cloud_public_cert: base64(dsa) })
    await done('POST', `${mount}/config/certificate/old`, {
      cloud_public_cert: base64(rsa),
      type: 'identity',
    })
    await done('POST', `${mount}/role/web`, {
      auth_type: 'ec2',
      bound_account_id: HOME.account,
      token_policies: 'dev',
    })
    instance = await launch()
    pkcs7 = await pkcs7Of(instance)
    signed = await aws.documents(placeOf(instance))
    await login(proofOf({ pkcs7 }))
  })

  const wrapped = (text: string, end: string) => (text.match(/.{1,64}/g) ?? []).join(end)
  const forms: [string, () => object][] = [
    ['pkcs7 on one line', () => ({ pkcs7 })],
    ['pkcs7 on several lines', () => ({ pkcs7: signed.rsa2048 })],
    ['pkcs7 with a line end after the last line', () => ({ pkcs7: `${wrapped(pkcs7, '\n')}\n` })],
    ['pkcs7 with CR and LF', () => ({ pkcs7: wrapped(pkcs7, '\r\n') })],
    [
      'pkcs7 in PEM',
      () => ({ pkcs7: `-----BEGIN PKCS7-----\n${wrapped(pkcs7, '\n')}\n-----END PKCS7-----\n` }),
    ],
    [
      'pkcs7 in PEM of CMS',
      () => ({ pkcs7: `-----BEGIN CMS-----\n${wrapped(pkcs7, '\n')}\n-----END CMS-----` }),
    ],
    ['pkcs7 with an unused identity', () => ({ pkcs7, identity: base64(signed.document) })],
    ['pkcs7 with an empty identity and signature', () => ({ pkcs7, identity: '', signature: '' })],
    [
      'pkcs7 with half of an iam login',
      () => ({ pkcs7, iam_http_request_method: 'POST', iam_request_url: 'x' }),
    ],
    [
      'identity and signature',
      () => ({ identity: base64(signed.document), signature: signed.signature.replaceAll('\n', '') }),
    ],
    [
      'identity and signature with white space',
      () => ({
        identity: ` ${wrapped(base64(signed.document), '\n\t')} `,
        signature: wrapped(signed.signature, '\r\n'),
        pkcs7: '',
      }),
    ],
  ]
  test.each(forms)('is accepted: %s', async (_name, proof) => {
    const answer = await login(proofOf(proof()))
    expect(answer.status, answer.text).toBe(200)
    expect(answer.body.auth.policies).toEqual(['default', 'dev'])
  })

  test('PUT is accepted like POST, and the role name in upper case', async () => {
    expect((await login({ ...proofOf({ pkcs7 }), role: 'WEB' }, 'PUT')).status).toBe(200)
  })

  test.each(['GET', 'DELETE', 'PATCH'])('%s is not a method of the login path', async verb => {
    const headers = { 'content-type': 'application/merge-patch+json' }
    expect((await api(verb, `${mount}/login`, undefined, { headers })).status).toBe(405)
  })

  const missing = 'required authentication values are missing: '
  const anything =
    'give pkcs7, or identity and signature, or iam_http_request_method, iam_request_url, iam_request_headers, ' +
    'iam_request_body (no body with GET)'
  const iam = {
    iam_http_request_method: 'GET',
    iam_request_url: 'https://sts.amazonaws.com/',
    iam_request_headers: {},
  }
  const refused: [string, () => object, string][] = [
    ['nothing', () => ({}), missing + anything],
    ['identity without signature', () => ({ identity: 'e30=' }), `${missing}signature`],
    ['signature without identity', () => ({ signature: 'e30=' }), `${missing}identity`],
    ['iam without a URL', () => ({ ...iam, iam_request_url: undefined }), `${missing}iam_request_url`],
    [
      'a POST without a body',
      () => ({ ...iam, iam_http_request_method: 'POST' }),
      `${missing}iam_request_body`,
    ],
    ['ec2 and iam values', () => ({ pkcs7, ...iam }), 'values for both the ec2 and the iam type were given'],
    ['an empty pkcs7', () => ({ pkcs7: '' }), 'give pkcs7, or both identity and signature'],
    ['pkcs7 null', () => ({ pkcs7: null }), 'give pkcs7, or both identity and signature'],
    [
      'both forms of proof',
      () => ({ pkcs7, identity: 'e30=', signature: 'e30=' }),
      'give either pkcs7, or identity and signature, not both',
    ],
    [
      'an identity that is not base64',
      () => ({ identity: '%', signature: 'e30=' }),
      'identity must be base64',
    ],
    [
      'a signature in the URL alphabet',
      () => ({ identity: 'e30=', signature: '-_-_' }),
      'signature must be base64',
    ],
    [
      'an identity with an empty signature',
      () => ({ identity: base64(signed.document), signature: '' }),
      UNPROVEN,
    ],
    [
      'line ends as backslash and n',
      () => ({ pkcs7: signed.rsa2048.replaceAll('\n', '\\n') }),
      noMessage('is not base64, or is cut off'),
    ],
    [
      'an HTML page',
      () => ({ pkcs7: '<html><body>401 - Unauthorized</body></html>' }),
      noMessage('is a page in HTML or XML, such as an error of the metadata service or of a proxy'),
    ],
    [
      'a document encoded in base64 twice',
      () => ({ pkcs7: base64(pkcs7) }),
      noMessage('is encoded in base64 twice'),
    ],
    ['truncated base64', () => ({ pkcs7: pkcs7.slice(0, -41) }), noMessage('is not base64, or is cut off')],
    [
      'a certificate',
      () => ({ pkcs7: base64(Buffer.from('3003020101', 'hex')) }),
      noMessage('is not a CMS SignedData structure that contains a document'),
    ],
    [
      'a truncated message',
      () => ({ pkcs7: base64(Buffer.from(pkcs7, 'base64').subarray(0, -8)) }),
      noMessage('is cut off'),
    ],
    ['words', () => ({ pkcs7: 'not a signature' }), noMessage('is not base64, or is cut off')],
    [
      'a SHA-1 signature, although its certificate is registered',
      () => ({ pkcs7: signed.pkcs7.replaceAll('\n', '') }),
      UNPROVEN,
    ],
    [
      'a signature of another document',
      () => ({ identity: base64(document()), signature: signed.signature.replaceAll('\n', '') }),
      UNPROVEN,
    ],
  ]
  test.each(refused)('is rejected: %s', async (_name, proof, text) => {
    const answer = await login(proofOf(proof()))
    expect([answer.status, errorsOf(answer)]).toEqual([400, text])
  })

  test.each([
    ['not JSON', 'hello'],
    ['a list', '[]'],
    ['an object without fields', '{}'],
    ['a byte order mark', `\ufeff${document()}`],
    ['a repeated key', document().replace('{', `{"instanceId":"${freshInstanceId()}",`)],
    ['names in other letter case', document().replace('instanceId', 'InstanceID')],
    ['an instanceId that is a number', document({ instanceId: 7 })],
    ['an invalid instance ID', document({ instanceId: 'i-0/../x' })],
    ['an invalid account ID', document({ accountId: '1111' })],
    ['an invalid region', document({ region: 'us-east-1.evil.example' })],
    ['a region outside the supported partitions', document({ region: 'us-iso-east-1' })],
    ['a malformed time', document({ pendingTime: 'yesterday' })],
    ['a date that does not exist', document({ pendingTime: '2026-02-30T00:00:00Z' })],
  ])(
    'with a signed text that is not an identity document is rejected: %s (CVE-2020-16251)',
    async (_name, text) => {
      const { rsa2048, signature } = await aws.signDocument({ document: text })
      for (const proof of [{ pkcs7: rsa2048 }, { identity: base64(text), signature }]) {
        const answer = await login(proofOf(proof))
        expect(answer.status, answer.text).toBe(400)
        expect(errorsOf(answer)).toMatch(/^the identity document /)
      }
    },
  )

  test('a certificate applies only to its type, and only until the certificate is deleted', async () => {
    const { path } = await freshMount()
    const { rsa2048 } = await aws.authority()
    await done('POST', `${path}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    const proof = proofOf({ pkcs7 })
    const tried = async () => (await api('POST', `${path}/login`, proof, { token: '' })).status
    const register = (type: string) =>
      done('POST', `${path}/config/certificate/c`, { cloud_public_cert: base64(rsa2048), type })
    expect(await tried()).toBe(400)
    await register('identity')
    expect(await tried()).toBe(400)
    await register('pkcs7')
    expect(await tried()).toBe(200)
    await done('DELETE', `${path}/config/certificate/c`)
    expect(await tried()).toBe(400)
  })

  test('a certificate of type pkcs7 does not verify an identity signature', async () => {
    const { path } = await freshMount()
    const { rsa } = await aws.authority()
    await done('POST', `${path}/config/certificate/c`, { cloud_public_cert: base64(rsa), type: 'pkcs7' })
    await done('POST', `${path}/role/web`, { auth_type: 'ec2', bound_account_id: HOME.account })
    const proof = proofOf({ identity: base64(signed.document), signature: signed.signature })
    expect((await api('POST', `${path}/login`, proof, { token: '' })).status).toBe(400)
  })

  test('a login without a role uses the role named after the AMI', async () => {
    const imageId = `ami-${freshInstanceId().slice(2)}`
    const started = await launch({ imageId })
    const inferred = { pkcs7: await pkcs7Of(started), nonce: 'n' }
    const unknown = await login(inferred)
    expect([unknown.status, errorsOf(unknown)]).toEqual([400, `no role named "${imageId}"`])
    await done('POST', `${mount}/role/${imageId}`, { auth_type: 'ec2', bound_account_id: HOME.account })
    for (const role of [{}, { role: '' }, { role: null }]) {
      const answer = await login({ ...inferred, ...role })
      expect(answer.body.auth.metadata.role).toBe(imageId)
    }
  })
})
