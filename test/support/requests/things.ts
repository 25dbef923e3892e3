import { readFileSync } from 'node:fs'
import { fresh } from '../service/cluster.ts'

/** A resource that an administrator writes and reads. */
export interface Thing {
  title: string
  /** returns a path that only this resource uses, below a mount */
  at: (mount: string) => string
  /** a request body that sets every field */
  body: Record<string, unknown>
  /** request bodies that set some fields, each with the fields that read differently after the write */
  parts: { body: Record<string, unknown>; reads: Record<string, unknown> }[]
}

const certificate = (file: string) =>
  readFileSync(new URL(`../../vectors/certificates/${file}.pem`, import.meta.url), 'utf8')

/** Certificates of test/vectors/certificates, as PEM text. */
export const pem = { rsa: certificate('rsa-2048'), ec: certificate('ec-p256') }

const base64 = (text: string) => Buffer.from(text).toString('base64')

export const ec2Role: Thing = {
  title: 'an ec2 role',
  at: mount => `${mount}/role/${fresh('ec2-')}`,
  body: {
    auth_type: 'ec2',
    bound_account_id: ['111122223333', '444455556666'],
    bound_ami_id: 'ami-0a1b2c3d4e5f60718,ami-1a1b2c3d4e5f60718',
    bound_region: 'us-east-1',
    bound_vpc_id: 'vpc-1',
    bound_subnet_id: ['subnet-1'],
    bound_iam_role_arn: 'arn:aws:iam::111122223333:role/app*',
    bound_iam_instance_profile_arn: 'arn:aws:iam::111122223333:instance-profile/app*',
    bound_ec2_instance_id: 'i-0123456789abcdef0',
    bound_tags: { Env: 'prod,dev', 'a b': ['core*'] },
    role_tag: 'CloudRole',
    allow_instance_migration: true,
    token_ttl: '15m',
    token_max_ttl: '1h',
    token_policies: ['Prod', 'dev'],
    token_bound_cidrs: ['10.0.0.0/8', '127.0.0.1'],
    token_strictly_bind_ip: true,
    token_explicit_max_ttl: 7200,
    token_no_default_policy: true,
    token_num_uses: 5,
    token_period: '10m',
    token_type: 'service',
  },
  parts: [
    { body: { bound_vpc_id: '' }, reads: { bound_vpc_id: [] } },
    { body: { bound_tags: { Env: ['dev'] } }, reads: { bound_tags: { Env: ['dev'] } } },
    { body: { bound_tags: {} }, reads: { bound_tags: {} } },
    { body: { token_ttl: '30m' }, reads: { token_ttl: 1800 } },
    {
      body: { allow_instance_migration: false, disallow_reauthentication: true },
      reads: { allow_instance_migration: false, disallow_reauthentication: true },
    },
    { body: { token_policies: 'a, b' }, reads: { token_policies: ['a', 'b'] } },
    { body: { role_tag: '' }, reads: { role_tag: '' } },
  ],
}

export const iamRole: Thing = {
  title: 'an iam role',
  at: mount => `${mount}/role/${fresh('iam-')}`,
  body: {
    bound_iam_principal_arn: ['arn:aws:iam::111122223333:role/app*', 'arn:aws:iam::444455556666:user/*'],
    policies: 'Dev,base',
    ttl: '5m',
    max_ttl: 600,
    period: 60,
  },
  parts: [
    {
      body: { bound_iam_principal_arn: 'arn:aws:iam::111122223333:role/web*' },
      reads: { bound_iam_principal_arn: ['arn:aws:iam::111122223333:role/web*'] },
    },
    { body: { ttl: 120 }, reads: { ttl: 120, token_ttl: 120 } },
    {
      body: {
        inferred_entity_type: 'ec2_instance',
        inferred_aws_region: 'eu-west-1',
        bound_ami_id: ['ami-1'],
      },
      reads: {
        inferred_entity_type: 'ec2_instance',
        inferred_aws_region: 'eu-west-1',
        bound_ami_id: ['ami-1'],
      },
    },
  ],
}

export const things: readonly Thing[] = [
  {
    title: 'config/client',
    at: mount => `${mount}/config/client`,
    body: {
      max_retries: 3,
      access_key: 'AKIAIOSFODNN7EXAMPLE',
      secret_key: 'kept-for-itself',
      endpoint: 'https://ec2.example.com',
      iam_endpoint: 'https://iam.example.com',
      sts_endpoint: 'https://sts.example.com',
      sts_region: 'eu-west-1',
      use_sts_region_from_client: true,
      iam_server_id_header_value: 'login.example.com',
      allowed_sts_header_values: 'x-custom-thing, X-OTHER',
    },
    parts: [
      { body: { endpoint: '' }, reads: { endpoint: '' } },
      { body: { max_retries: -1 }, reads: { max_retries: -1 } },
      { body: { allowed_sts_header_values: [] }, reads: { allowed_sts_header_values: null } },
      { body: { use_sts_region_from_client: 'false' }, reads: { use_sts_region_from_client: false } },
    ],
  },
  {
    title: 'config/identity',
    at: mount => `${mount}/config/identity`,
    body: {
      iam_alias: 'full_arn',
      iam_metadata: ['client_arn', 'account_id', 'CANONICAL_ARN', 'client_arn'],
      ec2_alias: 'image_id',
      ec2_metadata: 'region',
    },
    parts: [
      { body: { iam_alias: 'canonical_arn' }, reads: { iam_alias: 'canonical_arn' } },
      { body: { iam_metadata: 'default' }, reads: { iam_metadata: ['account_id', 'auth_type'] } },
      { body: { iam_metadata: '' }, reads: { iam_metadata: [] } },
      { body: { ec2_metadata: [] }, reads: { ec2_metadata: [] } },
    ],
  },
  {
    title: 'config/certificate',
    at: mount => `${mount}/config/certificate/${fresh('Cert-')}`,
    body: { cloud_public_cert: base64(pem.rsa), type: 'identity' },
    parts: [
      {
        body: { aws_public_cert: pem.ec },
        reads: { cloud_public_cert: pem.ec, aws_public_cert: pem.ec, type: 'identity' },
      },
      { body: { cloud_public_cert: base64(pem.ec), type: 'PKCS7' }, reads: { type: 'pkcs7' } },
    ],
  },
  {
    title: 'config/sts',
    at: mount => `${mount}/config/sts/444455556666`,
    body: { sts_role: 'arn:aws:iam::444455556666:role/cloud-auth-x', external_id: 'e-1' },
    parts: [
      {
        body: { sts_role: 'arn:aws:iam::444455556666:role/cloud-auth-y' },
        reads: { sts_role: 'arn:aws:iam::444455556666:role/cloud-auth-y' },
      },
      { body: { external_id: '' }, reads: { external_id: '' } },
    ],
  },
  ...['identity-accesslist', 'roletag-denylist'].map(list => ({
    title: `config/tidy/${list}`,
    at: (mount: string) => `${mount}/config/tidy/${list}`,
    body: { safety_buffer: '2d', disable_periodic_tidy: true },
    parts: [
      { body: { safety_buffer: 0 }, reads: { safety_buffer: 0 } },
      { body: { disable_periodic_tidy: 0 }, reads: { disable_periodic_tidy: false } },
    ],
  })),
  ec2Role,
  iamRole,
]
