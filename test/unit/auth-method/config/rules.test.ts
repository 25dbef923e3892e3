import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../../shared/api/fields.ts'
import {
  clientConfigFields,
  readClientConfig,
  writeClientConfig,
} from '../../../../shared/auth-method/config/client.ts'
import { identityConfigFields, writeIdentityConfig } from '../../../../shared/auth-method/config/identity.ts'
import { stsRoleFields, writeStsRole } from '../../../../shared/auth-method/config/sts.ts'
import { metadataNamesOf, selectLoginMetadata } from '../../../../shared/auth-method/login/metadata.ts'
import type { AwsClientConfig, IdentityConfig } from '../../../../shared/model/config.ts'
import { type Item, type Key, key } from '../../../../shared/storage/kinds.ts'
import { isAssumableRole } from '../../../../shared/values/arn.ts'
import { callWith } from '../../../support/requests/call.ts'
import { item, plainCipher } from '../../../support/tables/items.ts'
import { mount } from '../../tokens/support.ts'

const accessor = 'auth_cloud_1'
type Raw = Record<string, unknown>
const dataOf = (changes: readonly unknown[] = []) => (changes[0] as { data: unknown }).data

const around = (subjectKey: Key, subject: Item | undefined) => ({
  mount: mount(),
  subjectKey,
  subject,
  ports: {
    cipher: plainCipher,
    deployment: { plainEndpoints: false, assumableRoles: ['arn:*:iam::*:role/cloud-auth-*'] },
  },
})

describe('client configuration', () => {
  const place = key('client-config', accessor)
  async function write(raw: Raw, stored?: AwsClientConfig) {
    const given = readParameterFields(clientConfigFields, raw).parameters
    const { changes, answer } = await writeClientConfig(
      callWith({ ...around(place, stored && item(place, stored)), parameters: given }),
    )
    return { config: dataOf(changes) as AwsClientConfig, warnings: answer.warnings ?? [] }
  }

  test('omitted fields keep their values, and empty fields are cleared', async () => {
    const { config: first } = await write({
      access_key: 'AKIA',
      secret_key: 's',
      sts_region: 'eu-west-1',
      max_retries: 3,
    })
    expect(first).toMatchObject({
      accessKey: 'AKIA',
      secretKey: 'client-config client secretKey: s',
      maxRetries: 3,
    })
    expect((await write({ endpoint: 'https://ec2.example.com' }, first)).config).toEqual({
      ...first,
      endpoint: 'https://ec2.example.com',
    })
    expect((await write({ secret_key: '', access_key: '', sts_region: '' }, first)).config).toMatchObject({
      accessKey: '',
      stsRegion: '',
    })
    expect((await write({ secret_key: '' }, first)).config).not.toHaveProperty('secretKey')
  })

  test('setting new keys discards the old key of an unfinished rotation', async () => {
    const { config } = await write({ access_key: 'AKIA', secret_key: 's' })
    const rotated = {
      ...config,
      previousAccessKey: 'OLD',
      previousSecretKey: config.secretKey ?? expect.fail(),
    }
    expect((await write({ max_retries: 1 }, rotated)).config).toHaveProperty('previousAccessKey')
    for (const raw of [{ access_key: 'NEW' }, { secret_key: 'n' }]) {
      expect((await write(raw, rotated)).config).not.toHaveProperty('previousAccessKey')
      expect((await write(raw, rotated)).config).not.toHaveProperty('previousSecretKey')
    }
  })

  test('setting only one of sts_endpoint and sts_region returns a warning', async () => {
    const both = { sts_endpoint: 'https://sts.example.com', sts_region: 'eu-west-1' }
    expect((await write(both)).warnings).toEqual([])
    for (const name of ['sts_endpoint', 'sts_region'] as const)
      expect((await write({ [name]: both[name] })).warnings.length).toBe(1)
  })

  test.each(['endpoint', 'iam_endpoint', 'sts_endpoint'])(
    '%s must be an absolute https URL without a local address (CVE-2026-5052, HCSEC-2026-06)',
    async name => {
      const wrong = [
        'ec2.example.com',
        '/x',
        'http://x.example',
        'ftp://x.example',
        'https://',
        'https://u@x.example',
        'https://u:p@x.example',
        'https://x.example/#f',
        'https://x.example/?q',
        'https://x.example\\y',
        ' https://x.example',
        'https://x .example',
        'https://x.example\n',
        'javascript:alert(1)',
      ]
      for (const url of wrong)
        await expect(write({ [name]: url })).rejects.toThrow(`${name} must be an absolute https URL`)
      for (const near of [
        '127.0.0.1',
        '127.1',
        'localhost',
        '[::1]',
        '169.254.169.254',
        '[fd00:ec2::254]',
        '0.0.0.0',
      ])
        await expect(write({ [name]: `https://${near}:8443/` })).rejects.toThrow(
          `${name} must not name a loopback, link-local or metadata address`,
        )
      for (const url of ['https://x.example', 'https://x.example:8443/path', ''])
        await expect(write({ [name]: url })).resolves.toBeDefined()
    },
  )

  const missing = [
    'role_arn',
    'identity_token_audience',
    'identity_token_ttl',
    'identity_token_key',
    'rotation_period',
    'rotation_policy',
    'rotation_schedule',
    'rotation_window',
  ]
  test.each(missing)('%s is accepted with a neutral value and rejected with any other', async name => {
    const { config } = await write({ max_retries: 3 })
    for (const neutral of ['', null, 0, '0', '0s', false, [], {}])
      expect((await write({ max_retries: 3, [name]: neutral })).config).toEqual(config)
    for (const other of ['x', 1, '1h', true, ['x'], { a: 1 }, '* * * * *'])
      await expect(write({ [name]: other })).rejects.toThrow(`${name} must be empty`)
  })

  test.each([
    ['x-custom-thing', 'X-Custom-Thing'],
    ['X-CUSTOM-THING', 'X-Custom-Thing'],
    ['x-1a-b', 'X-1a-B'],
  ])('the header %s is stored as %s', async (given, kept) => {
    expect((await write({ allowed_sts_header_values: given })).config.allowedHeaders).toEqual([kept])
  })

  test.each([
    [['X-Custom'], ['X-Custom']],
    [[], null],
    [null, null],
  ])('the headers %j are returned as %j and can be written again', async (given, wanted) => {
    const { config } = await write({ allowed_sts_header_values: given })
    const { answer } = readClientConfig(callWith(around(place, item(place, config))))
    expect(answer).toMatchObject({ data: { allowed_sts_header_values: wanted } })
    expect((await write({ allowed_sts_header_values: wanted })).config).toEqual(config)
  })
})

describe('identity configuration', () => {
  const place = key('identity-config', accessor)
  const write = (raw: Raw, stored?: IdentityConfig) =>
    dataOf(
      writeIdentityConfig(
        callWith({
          ...around(place, stored && item(place, stored)),
          parameters: readParameterFields(identityConfigFields, raw).parameters,
        }),
      ).changes,
    ) as IdentityConfig

  test.each<[Raw, Partial<IdentityConfig>]>([
    [{}, { iamAlias: 'role_id', ec2Alias: 'role_id', iamMetadata: 'default', ec2Metadata: 'default' }],
    [
      { iam_alias: 'full_arn', ec2_alias: 'image_id' },
      { iamAlias: 'full_arn', ec2Alias: 'image_id' },
    ],
    [{ iam_metadata: 'default' }, { iamMetadata: 'default' }],
    [{ iam_metadata: [' Default '] }, { iamMetadata: 'default' }],
    [{ iam_metadata: [] }, { iamMetadata: [] }],
    [{ ec2_metadata: '' }, { ec2Metadata: [] }],
    [{ ec2_metadata: 'region, AMI_ID,region' }, { ec2Metadata: ['ami_id', 'region'] }],
  ])('%j is stored as %j', (raw, expected) => {
    expect(write(raw)).toMatchObject(expected)
  })

  test.each<[Raw, string]>([
    [{ iam_alias: 'Role_ID' }, 'iam_alias must be one of'],
    [{ iam_alias: '' }, 'iam_alias must be one of'],
    [{ iam_alias: 'instance_id' }, 'iam_alias must be one of'],
    [{ ec2_alias: 'unique_id' }, 'ec2_alias must be one of'],
    [{ iam_metadata: 'default,account_id' }, 'default cannot be combined'],
    [{ iam_metadata: 'region' }, '"region" is not a selectable'],
    [{ ec2_metadata: 'canonical_arn' }, '"canonical_arn" is not a selectable'],
    [{ ec2_metadata: '__proto__' }, '"__proto__" is not a selectable'],
    [{ ec2_alias: 'image_id', iam_metadata: 'nonce' }, '"nonce" is not a selectable'],
  ])('%j is rejected', (raw, text) => {
    expect(() => write(raw)).toThrow(text)
  })

  test('default selects the default metadata, and empty values are omitted', () => {
    expect(metadataNamesOf('iam', write({}))).toEqual(['account_id', 'auth_type'])
    expect(metadataNamesOf('ec2', write({ ec2_metadata: 'region' }))).toEqual(['region'])
    expect(selectLoginMetadata(['a', 'b', 'c'], { a: '1', b: '', d: '2' })).toEqual({ a: '1' })
  })
})

describe('STS roles of other accounts', () => {
  const place = key('sts-role', accessor, '444455556666')
  const write = (raw: Raw, stored?: { role: string; externalId: string }) => {
    const { changes, answer } = writeStsRole(
      callWith({
        ...around(place, stored && item(place, stored)),
        parameters: readParameterFields(stsRoleFields, raw).parameters,
      }),
    )
    return { role: dataOf(changes), warnings: answer.warnings ?? [] }
  }
  const role = 'arn:aws:iam::444455556666:role/cloud-auth-x'

  test('a partial update keeps omitted fields', () => {
    expect(write({ sts_role: role }).role).toEqual({ role, externalId: '' })
    expect(write({ external_id: 'x' }, { role, externalId: '' }).role).toEqual({ role, externalId: 'x' })
    expect(write({ external_id: '' }, { role, externalId: 'x' }).role).toEqual({ role, externalId: '' })
  })

  test.each([[{}], [{ sts_role: '' }], [{ external_id: 'x' }]])('%j names no role', raw => {
    expect(() => write(raw)).toThrow('sts_role is required')
    if ('sts_role' in raw) expect(() => write(raw, { role, externalId: '' })).toThrow('sts_role is required')
  })

  test.each([
    [role, 0],
    ['arn:aws:iam::444455556666:role/other', 1],
    ['arn:aws:iam::444455556666:user/cloud-auth-x', 1],
    ['x', 1],
  ])('%s: %i warnings', (sts_role, warnings) => {
    expect(write({ sts_role }).warnings.length).toBe(warnings)
  })

  test.each([
    ['arn:*:iam::*:role/cloud-auth-*', role, true],
    ['arn:*:iam::*:role/cloud-auth-*', 'xarn:aws:iam::1:role/cloud-auth-x', false],
    ['arn:aws:iam::444455556666:role/cloud-auth-x', `${role}y`, false],
    ['*', role, true],
    ['arn.aws:iam::444455556666:role/cloud-auth-x', role, false],
    ['(', role, false],
  ])('the assumable-role pattern %s matches %s: %s', (pattern, arn, expected) => {
    expect(isAssumableRole([pattern], arn)).toBe(expected)
  })
})
