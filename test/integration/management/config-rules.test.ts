import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { pem, things } from '../../support/requests/things.ts'
import { api, done, freshMount } from '../../support/service/cluster.ts'

let mount = ''
beforeAll(async () => {
  ;({ path: mount } = await freshMount())
})

type Rule = [why: string, body: Record<string, unknown>, message: string]

/** Tries each rule without a stored item and with a stored item, which must not change. */
function refused(title: string, at: string, full: Record<string, unknown>, rules: readonly Rule[]): void {
  describe(title, () => {
    test.each(rules)('%s', async (_, body, message) => {
      const path = mount + at
      if (at !== '/config/identity') await done('DELETE', path)
      const empty = await api('GET', path)
      const early = await api('POST', path, body)
      expect([early.status, early.body.errors]).toEqual([400, [message]])
      const still = await api('GET', path)
      expect([still.status, still.body.data]).toEqual([empty.status, empty.body.data])
      await done('POST', path, full)
      const before = (await api('GET', path)).body.data
      const late = await api('POST', path, body)
      expect([late.status, late.body.errors]).toEqual([400, [message]])
      expect((await api('GET', path)).body.data).toEqual(before)
    })
  })
}

const bodyOf = (title: string) => things.find(one => one.title === title)?.body ?? {}
const wrongKind = (field: string, kind: string) => `Field validation failed: ${field} must be ${kind}`

const endpoints = ['endpoint', 'iam_endpoint', 'sts_endpoint']
const noEndpoints = [
  'ec2.example.com',
  '//ec2.example.com',
  'ftp://ec2.example.com',
  'https://user@ec2.example.com',
  'https://user:word@ec2.example.com',
  'https://ec2.example.com/#x',
  'https://ec2.example.com/?x',
  'https://',
  'https://ec2 .example.com',
  'https:\\\\ec2.example.com',
  'javascript:alert(1)',
]
refused('config/client rejects', '/config/client', bodyOf('config/client'), [
  ...endpoints.flatMap(field =>
    noEndpoints.map(
      (value): Rule => [
        `${field} ${value}`,
        { max_retries: 7, [field]: value },
        `${field} must be an absolute https URL`,
      ],
    ),
  ),
  ['max_retries as a word', { access_key: 'X', max_retries: 'many' }, wrongKind('max_retries', 'an integer')],
  [
    'max_retries with a fraction',
    { access_key: 'X', max_retries: 1.5 },
    wrongKind('max_retries', 'an integer'),
  ],
  [
    'a flag that is not boolean',
    { use_sts_region_from_client: 'yes' },
    wrongKind('use_sts_region_from_client', 'a boolean'),
  ],
  ['a flag of 2', { use_sts_region_from_client: 2 }, wrongKind('use_sts_region_from_client', 'a boolean')],
  [
    'allowed_sts_header_values as objects',
    { allowed_sts_header_values: [{}] },
    wrongKind('allowed_sts_header_values', 'a list of strings'),
  ],
  ['an object instead of a string', { access_key: {} }, wrongKind('access_key', 'a string')],
  ['a list instead of a string', { sts_region: ['eu-west-1'] }, wrongKind('sts_region', 'a string')],
  ...['role_arn', 'identity_token_audience', 'identity_token_ttl', 'rotation_schedule'].map(
    (field): Rule => [
      `${field}, which does not exist here`,
      { access_key: 'X', [field]: '1' },
      wrongKind(field, 'empty: this service does not support it'),
    ],
  ),
])

const iamNames =
  'account_id, auth_type, canonical_arn, client_arn, client_user_id, inferred_aws_region, inferred_entity_id, inferred_entity_type'
const ec2Names = 'account_id, auth_type, ami_id, instance_id, region'
refused('config/identity rejects, and stores nothing of', '/config/identity', bodyOf('config/identity'), [
  [
    'an unknown alias',
    { ec2_alias: 'role_id', iam_alias: 'x' },
    'iam_alias must be one of role_id, unique_id, canonical_arn, full_arn',
  ],
  [
    'an alias in upper case',
    { iam_alias: 'Role_ID' },
    'iam_alias must be one of role_id, unique_id, canonical_arn, full_arn',
  ],
  [
    'an empty alias',
    { iam_alias: '' },
    'iam_alias must be one of role_id, unique_id, canonical_arn, full_arn',
  ],
  [
    'an alias of the other type',
    { iam_alias: 'role_id', ec2_alias: 'full_arn' },
    'ec2_alias must be one of role_id, instance_id, image_id',
  ],
  [
    'unknown metadata',
    { iam_alias: 'unique_id', iam_metadata: ['x'] },
    `"x" is not a selectable metadata field; choose from ${iamNames}`,
  ],
  [
    'metadata of the other type',
    { iam_alias: 'unique_id', ec2_metadata: 'client_arn' },
    `"client_arn" is not a selectable metadata field; choose from ${ec2Names}`,
  ],
  [
    'default before other fields',
    { iam_metadata: 'default,client_arn' },
    'iam_metadata: default cannot be combined with other fields',
  ],
  [
    'default after other fields',
    { ec2_metadata: ['region', 'Default'] },
    'ec2_metadata: default cannot be combined with other fields',
  ],
])

const certificate = (file: string) =>
  readFileSync(new URL(`../../vectors/certificates/${file}.pem`, import.meta.url), 'utf8')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const NOT_PEM = 'certificate is not a single PEM-encoded X.509 certificate'
const WEAK = 'the certificate’s key must be RSA (1024 bits or more), DSA, or ECDSA on P-256 or P-384'
const cert = (text: string) => ({ cloud_public_cert: text })
refused('config/certificate rejects', '/config/certificate/x', bodyOf('config/certificate'), [
  ['no certificate', {}, 'cloud_public_cert is required'],
  ['only a type', { type: 'identity' }, 'cloud_public_cert is required'],
  ['an empty certificate', cert(''), 'cloud_public_cert is required'],
  ['null', { aws_public_cert: null }, 'cloud_public_cert is required'],
  ['an unknown type', { ...cert(pem.rsa), type: 'x' }, 'type must be pkcs7 or identity'],
  ['an empty type', { ...cert(pem.rsa), type: '' }, 'type must be pkcs7 or identity'],
  ['text', cert('certificate'), NOT_PEM],
  ['base64 of text', cert(base64('certificate')), NOT_PEM],
  ['two certificates', cert(pem.rsa + pem.ec), NOT_PEM],
  ['two certificates in base64', cert(base64(pem.rsa + pem.ec)), NOT_PEM],
  ['text before the certificate', cert(`x\n${pem.rsa}`), NOT_PEM],
  ['text after the certificate', cert(base64(`${pem.rsa}x`)), NOT_PEM],
  ['another label', cert(pem.rsa.replaceAll('CERTIFICATE', 'TRUSTED CERTIFICATE')), NOT_PEM],
  ['a key', cert('-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n'), NOT_PEM],
  ['a certificate in DER', cert(pem.rsa.replace(/-----.*-----|\n/g, '')), NOT_PEM],
  ['an incomplete certificate', cert(pem.rsa.replace(/\n[\w+/=]{64}\n/, '\n')), NOT_PEM],
  ['RSA of 512 bits', cert(certificate('rsa-512')), WEAK],
  ['P-521', cert(certificate('ec-p521')), WEAK],
  ['Ed25519', cert(base64(certificate('ed25519'))), WEAK],
])

refused('config/sts rejects', '/config/sts/444455556666', bodyOf('config/sts'), [
  ['an empty role', { sts_role: '', external_id: 'x' }, 'sts_role is required'],
  ['null', { sts_role: null }, 'sts_role is required'],
  ['a list', { sts_role: ['x'] }, wrongKind('sts_role', 'a string')],
])

for (const list of ['identity-accesslist', 'roletag-denylist']) {
  const at = `config/tidy/${list}`
  refused(`${at} rejects`, `/${at}`, bodyOf(at), [
    [
      'a negative buffer',
      { safety_buffer: -1, disable_periodic_tidy: false },
      wrongKind('safety_buffer', 'a duration'),
    ],
    ['a negative duration with a unit', { safety_buffer: '-1h' }, wrongKind('safety_buffer', 'a duration')],
    ['a fraction without a unit', { safety_buffer: '1.5' }, wrongKind('safety_buffer', 'a duration')],
    ['an unknown unit', { safety_buffer: '1w' }, wrongKind('safety_buffer', 'a duration')],
    ['a buffer over the maximum', { safety_buffer: '2147483648' }, wrongKind('safety_buffer', 'a duration')],
    [
      'a flag that is not boolean',
      { safety_buffer: 1, disable_periodic_tidy: 'no' },
      wrongKind('disable_periodic_tidy', 'a boolean'),
    ],
  ])
}
