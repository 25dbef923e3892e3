import { beforeAll, describe, expect, test } from 'vitest'
import { createRemoteControl, type ProviderControl } from '../../../../infra/local/provider/control.ts'
import { errorsOf, UNPROVEN, unregistered } from '../../../support/requests/logins.ts'
import { ownHost } from '../../../support/service/own-host.ts'
import older from '../../../vectors/identity-documents/us-west-1-2017.json' with { type: 'json' }

const identity = Buffer.from(older.document)
const proofs = {
  'DSA with SHA-1': { pkcs7: older.pkcs7 },
  'RSA-1024': { identity: identity.toString('base64'), signature: older.signature },
}

describe('documents that AWS signed in 2017, on a cluster with legacySignatures', () => {
  let host: Awaited<ReturnType<typeof ownHost>>
  let aws: ProviderControl
  const api = (path: string, body: unknown) => host.api('POST', path, body)

  beforeAll(async () => {
    host = await ownHost({ variables: { LEGACY_SIGNATURES: 'true' } })
    aws = createRemoteControl(host.provider_url, host.control_token)
    await api('/sys/auth/cloud', { type: 'cloud' })
    await api('/auth/cloud/role/web', { auth_type: 'ec2', bound_ami_id: older.imageId })
    const { arn } = await aws.putRole({ account: older.account, name: 'cloud-auth-reader' })
    await api(`/auth/cloud/config/sts/${older.account}`, { sts_role: arn })
    const { account, region, instanceId, imageId } = older
    await aws.putInstance({ account, region, instanceId, imageId })
  })

  test.each(Object.entries(proofs))('a login with a %s signature succeeds', async (_name, proof) => {
    const login = await api('/auth/cloud/login', { role: 'web', nonce: 'same', ...proof })
    expect(login.status, login.text).toBe(200)
    expect(login.body.auth.metadata).toMatchObject({ account_id: older.account, role: 'web' })
  })

  const flipped = (base64: string, at: number): string => {
    const bytes = Buffer.from(base64, 'base64')
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes.toString('base64')
  }
  const inContent = Buffer.from(older.pkcs7, 'base64').indexOf('privateIp')

  test.each([
    ['content of the PKCS#7', '', { pkcs7: flipped(older.pkcs7, inContent + 20) }],
    [
      'DSA signature',
      unregistered('pkcs7'),
      { pkcs7: flipped(older.pkcs7, Buffer.from(older.pkcs7, 'base64').length - 20) },
    ],
    [
      'document',
      unregistered('identity'),
      { ...proofs['RSA-1024'], identity: flipped(proofs['RSA-1024'].identity, 20) },
    ],
    [
      'RSA signature',
      unregistered('identity'),
      { ...proofs['RSA-1024'], signature: flipped(older.signature, 64) },
    ],
  ])('a login with one changed byte in the %s is rejected', async (_name, more, proof) => {
    const refused = await api('/auth/cloud/login', { role: 'web', nonce: 'same', ...proof })
    expect(refused.status).toBe(400)
    expect(errorsOf(refused)).toBe(UNPROVEN + more)
  })

  test('a registered DSA certificate verifies documents', async () => {
    const { dsa } = await aws.authority()
    await api('/auth/cloud/config/certificate/dsa', {
      cloud_public_cert: Buffer.from(dsa).toString('base64'),
    })
    const place = { account: '111122223333', region: 'us-east-1' }
    const instance = await aws.putInstance(place)
    await api('/auth/cloud/role/home', { auth_type: 'ec2', bound_account_id: place.account })
    const { pkcs7 } = await aws.documents(instance)
    expect((await api('/auth/cloud/login', { role: 'home', pkcs7 })).status).toBe(200)
  })
})
