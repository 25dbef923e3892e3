import { beforeAll, describe, expect, test } from 'vitest'
import { errorsOf, noMessage, UNPROVEN, unregistered } from '../../support/requests/logins.ts'
import { api, aws, done, freshMount } from '../../support/service/cluster.ts'
import older from '../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }
import newer from '../../vectors/identity-documents/us-west-1-2021.json' with { type: 'json' }

const instance = {
  account: newer.account,
  region: newer.region,
  instanceId: newer.instanceId,
  imageId: newer.imageId,
}

const NO_MESSAGE = noMessage('is not a CMS SignedData structure that contains a document')

describe('documents signed by AWS, verified with the built-in certificates', () => {
  let mount = ''
  const login = (body: object) => api('POST', `${mount}/login`, { role: 'web', ...body }, { token: '' })

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    await done('POST', `${mount}/role/web`, { auth_type: 'ec2', bound_ami_id: newer.imageId })
    const { arn } = await aws.putRole({ account: newer.account, name: 'cloud-auth-reader' })
    await done('POST', `${mount}/config/sts/${newer.account}`, { sts_role: arn })
  })

  test('the rsa2048 document of 2021 is valid, and its instance is looked up', async () => {
    const missing = await login({ pkcs7: newer.rsa2048 })
    expect([missing.status, errorsOf(missing)]).toEqual([
      400,
      `failed to verify the instance ${newer.instanceId}: EC2 knows no such instance`,
    ])
  })

  test('its instance logs in with the STS role of its account', async () => {
    await aws.putInstance(instance)
    const { body } = await done('POST', `${mount}/login`, { role: 'web', pkcs7: newer.rsa2048 })
    expect(body.auth.metadata).toMatchObject({ account_id: newer.account, auth_type: 'ec2', role: 'web' })
    const { body: entry } = await done('GET', `${mount}/identity-accesslist/${newer.instanceId}`)
    expect(entry.data).toMatchObject({
      pending_time: newer.pendingTime,
      client_nonce: body.auth.metadata.nonce,
    })
  })

  const bytes = Buffer.from(newer.rsa2048, 'base64')
  const contentAt = bytes.indexOf('x86_64')
  test.each([
    ['the content', contentAt, UNPROVEN],
    ['the digest in the signed attributes', bytes.length - 320, NO_MESSAGE],
    ['the signature', bytes.length - 100, UNPROVEN + unregistered('pkcs7')],
  ])('one changed byte of %s is rejected', async (_what, at, text) => {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    const refused = await login({ pkcs7: changed.toString('base64') })
    expect([refused.status, errorsOf(refused)]).toEqual([400, text])
  })

  test('bytes after the message are rejected', async () => {
    const refused = await login({ pkcs7: Buffer.concat([bytes, Buffer.from([0])]).toString('base64') })
    expect([refused.status, errorsOf(refused)]).toEqual([400, NO_MESSAGE])
  })

  test.each([
    ['DSA with SHA-1', { pkcs7: older.pkcs7 }, UNPROVEN],
    [
      'RSA-1024',
      { identity: Buffer.from(older.document).toString('base64'), signature: older.signature },
      UNPROVEN + unregistered('identity'),
    ],
  ])('documents of 2017 are rejected by default: %s', async (_name, proof, text) => {
    const refused = await login(proof)
    expect([refused.status, errorsOf(refused)]).toEqual([400, text])
  })
})
