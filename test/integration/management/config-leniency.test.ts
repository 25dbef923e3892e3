import { beforeAll, describe, expect, test } from 'vitest'
import { pem } from '../../support/requests/things.ts'
import { api, done, freshMount } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

const base64 = (text: string) => Buffer.from(text).toString('base64')
const cert = (text: string) => ({ cloud_public_cert: text })

describe('accepted settings', () => {
  test('sts_role is required only at creation', async () => {
    const path = `${mount}/config/sts/${'5'.repeat(12)}`
    const none = await api('POST', path, { external_id: 'x' })
    expect([none.status, none.body.errors]).toEqual([400, ['sts_role is required']])
    await done('POST', path, { sts_role: `arn:aws:iam::${'5'.repeat(12)}:role/cloud-auth-x` })
    expect((await done('POST', path, { external_id: 'y' })).status).toBe(204)
  })

  test.each([
    ['12', 'arn:aws:iam::444455556666:role/cloud-auth-x', 'not a 12-digit number'],
    ['1'.repeat(12), 'no ARN', 'not the ARN of an IAM role'],
    ['2'.repeat(12), 'arn:aws:iam::444455556666:role/cloud-auth-x', 'would reach account 444455556666'],
  ])(
    'an STS role for account %s with role %s is stored with a warning',
    async (account, sts_role, warning) => {
      const { body } = await done('POST', `${mount}/config/sts/${account}`, { sts_role })
      expect(body.warnings).toEqual([expect.stringContaining(warning)])
    },
  )

  test.each([{ sts_endpoint: 'https://sts.example.com' }, { sts_region: 'eu-west-1' }])(
    'one of sts_endpoint and sts_region is stored with a warning: %j',
    async body => {
      await done('DELETE', `${mount}/config/client`)
      const answer = await done('POST', `${mount}/config/client`, body)
      expect(answer.body.warnings).toEqual(['sts_endpoint and sts_region should be set together'])
    },
  )

  test('negative retries, and an access key without its secret key, are stored as sent', async () => {
    await done('POST', `${mount}/config/client`, {
      max_retries: -7,
      access_key: 'A',
      sts_region: '',
      sts_endpoint: '',
    })
    expect((await done('GET', `${mount}/config/client`)).body.data).toMatchObject({
      max_retries: -7,
      access_key: 'A',
    })
  })

  const spellings = {
    PEM: pem.rsa,
    base64: base64(pem.rsa),
    'without padding': base64(pem.rsa).replace(/=+$/, ''),
    'in lines': base64(pem.rsa).replace(/.{64}/g, '$&\r\n'),
    CRLF: pem.rsa.replaceAll('\n', '\r\n'),
    'without its last line end': pem.ec.trim(),
  }
  test.each(Object.entries(spellings))('a certificate is stored: %s', async (_, text) => {
    const path = `${mount}/config/certificate/spelled`
    await done('POST', path, { cloud_public_cert: text })
    expect((await done('GET', path)).body.data.cloud_public_cert).toContain('BEGIN CERTIFICATE')
  })

  test('listings are sorted, and certificate names are case-sensitive', async () => {
    const { path } = await freshMount()
    for (const name of ['b', 'a', 'B']) await done('POST', `${path}/config/certificate/${name}`, cert(pem.ec))
    expect((await api('LIST', `${path}/config/certificates`)).body.data.keys).toEqual(['B', 'a', 'b'])
    for (const name of ['9', '10']) await done('POST', `${path}/config/sts/${name}`, { sts_role: 'x' })
    expect((await api('LIST', `${path}/config/sts`)).body.data.keys).toEqual(['10', '9'])
    await done('DELETE', `${path}/config/certificate/B`)
    expect((await api('LIST', `${path}/config/certificates`)).body.data.keys).toEqual(['a', 'b'])
  })
})
