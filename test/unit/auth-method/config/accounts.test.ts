import { describe, expect, test } from 'vitest'
import { createAccountQuestion } from '../../../../shared/auth-method/config/accounts.ts'
import { defaultClientSettings } from '../../../../shared/auth-method/config/client-settings.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { plainCipher as cipher, encrypted, item } from '../../../support/tables/items.ts'

const accessor = 'auth_cloud_1'
const config = {
  ...defaultClientSettings,
  accessKey: 'AKIA1',
  secretKey: encrypted('client-config', 'client', 'secretKey', 'new'),
  previousAccessKey: 'AKIA0',
  previousSecretKey: encrypted('client-config', 'client', 'previousSecretKey', 'old'),
  endpoint: 'https://ec2.example.com',
  iamEndpoint: 'https://iam.example.com',
  stsEndpoint: 'https://sts.example.com',
  stsRegion: 'eu-west-1',
  maxRetries: 7,
}
const access = (client?: typeof config, sts?: { role: string; externalId: string }) =>
  createAccountQuestion(
    {
      account: '444455556666',
      region: 'us-east-1',
      client: client && item(key('client-config', accessor), client, 'r7'),
      sts: sts && item(key('sts-role', accessor, '444455556666'), sts),
    },
    ['subject'],
    cipher,
    async target => target,
  ).ask()

describe('access to an AWS account', () => {
  test("an unconfigured mount uses the server's own credentials, for the server's account only", async () => {
    expect(await access()).toEqual({
      account: '444455556666',
      region: 'us-east-1',
      client: {
        version: 'none',
        maxRetries: -1,
        endpoint: '',
        iamEndpoint: '',
        stsEndpoint: '',
        stsRegion: '',
      },
    })
  })

  test('a configured STS role is assumed with its external ID', async () => {
    const role = { role: 'arn:aws:iam::444455556666:role/r', externalId: 'x' }
    expect((await access(undefined, role)).assume).toEqual(role)
    expect((await access(undefined, { ...role, externalId: '' })).assume).toEqual({ ...role, externalId: '' })
  })

  test('a client configuration sets endpoints, keys and revision', async () => {
    const { client, assume } = await access(config)
    expect(assume).toBeUndefined()
    expect(client).toMatchObject({
      version: 'r7',
      endpoint: 'https://ec2.example.com',
      iamEndpoint: 'https://iam.example.com',
      stsEndpoint: 'https://sts.example.com',
      stsRegion: 'eu-west-1',
      maxRetries: 7,
    })
    const shown = [client.credentials, client.previous].map(pair => [
      pair?.accessKey,
      pair?.secretKey.reveal(),
    ])
    expect(shown).toEqual([
      ['AKIA1', 'new'],
      ['AKIA0', 'old'],
    ])
  })

  test.each([
    ['no access key', { ...config, accessKey: '' }],
    ['no secret key', (({ secretKey: _, ...rest }) => rest)(config)],
  ])('an incomplete key pair is ignored: %s', async (_, half) => {
    expect((await access(half as typeof config)).client.credentials).toBeUndefined()
  })

  test('secret keys print as placeholders', async () => {
    expect(JSON.stringify(await access(config))).not.toMatch(/new|old/)
  })
})
