/** The documented API of the auth method, written by hand: fields, endpoints, deprecated paths. `A` is `/auth/:mount`. */
export type Kind = 'string' | 'int' | 'boolean' | 'list' | 'duration' | 'string or object' | 'map of lists'
export type Fields = Record<string, Kind>
export type Row = [method: 'POST' | 'GET' | 'LIST' | 'DELETE', path: string, fields: Fields]

const client: Fields = {
  max_retries: 'int',
  access_key: 'string',
  secret_key: 'string',
  endpoint: 'string',
  iam_endpoint: 'string',
  sts_endpoint: 'string',
  sts_region: 'string',
  use_sts_region_from_client: 'boolean',
  iam_server_id_header_value: 'string',
  allowed_sts_header_values: 'list',
}

const identity: Fields = {
  iam_alias: 'string',
  iam_metadata: 'list',
  ec2_alias: 'string',
  ec2_metadata: 'list',
}

const certificate: Fields = { cloud_public_cert: 'string', type: 'string' }

const sts: Fields = { sts_role: 'string', external_id: 'string' }

const tidy: Fields = { safety_buffer: 'duration', disable_periodic_tidy: 'boolean' }

const role: Fields = {
  auth_type: 'string',
  bound_ami_id: 'list',
  bound_account_id: 'list',
  bound_region: 'list',
  bound_vpc_id: 'list',
  bound_subnet_id: 'list',
  bound_iam_role_arn: 'list',
  bound_iam_instance_profile_arn: 'list',
  bound_ec2_instance_id: 'list',
  bound_tags: 'map of lists',
  role_tag: 'string',
  bound_iam_principal_arn: 'list',
  inferred_entity_type: 'string',
  inferred_aws_region: 'string',
  resolve_aws_unique_ids: 'boolean',
  allow_instance_migration: 'boolean',
  disallow_reauthentication: 'boolean',
  token_ttl: 'duration',
  token_max_ttl: 'duration',
  token_policies: 'list',
  policies: 'list',
  token_bound_cidrs: 'list',
  token_explicit_max_ttl: 'duration',
  token_no_default_policy: 'boolean',
  token_num_uses: 'int',
  token_period: 'duration',
  token_type: 'string',
  token_strictly_bind_ip: 'boolean',
}

const NEUTRAL: Record<Kind, unknown> = {
  string: '',
  int: 0,
  boolean: false,
  list: [],
  duration: 0,
  'string or object': '',
  'map of lists': {},
}

/** Returns the default values of a role's fields with a name prefix. */
export const unsaid = (prefix: 'bound_' | 'token_'): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(role)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, kind]) => [name, name === 'token_type' ? 'default' : NEUTRAL[kind]]),
  )

const { token_max_ttl: _max, token_policies: _policies, token_ttl: _ttl, ...both } = unsaid('token_')

/** The default values of a token role, which has no TTLs and policies of logins. */
export const termsOfBoth = both

const tag: Fields = {
  policies: 'list',
  max_ttl: 'duration',
  instance_id: 'string',
  allow_instance_migration: 'boolean',
  disallow_reauthentication: 'boolean',
}

const login: Fields = {
  role: 'string',
  identity: 'string',
  signature: 'string',
  pkcs7: 'string',
  nonce: 'string',
  iam_http_request_method: 'string',
  iam_request_url: 'string',
  iam_request_body: 'string',
  iam_request_headers: 'string or object',
}

const buffer: Fields = { safety_buffer: 'duration' }

export const rows: Row[] = [
  ['POST', 'A/config/client', client],
  ['GET', 'A/config/client', {}],
  ['DELETE', 'A/config/client', {}],
  ['POST', 'A/config/rotate-root', {}],
  ['POST', 'A/config/identity', identity],
  ['GET', 'A/config/identity', {}],
  ['POST', 'A/config/certificate/:cert_name', certificate],
  ['GET', 'A/config/certificate/:cert_name', {}],
  ['DELETE', 'A/config/certificate/:cert_name', {}],
  ['LIST', 'A/config/certificates', {}],
  ['POST', 'A/config/sts/:account_id', sts],
  ['GET', 'A/config/sts/:account_id', {}],
  ['LIST', 'A/config/sts', {}],
  ['DELETE', 'A/config/sts/:account_id', {}],
  ['POST', 'A/config/tidy/identity-accesslist', tidy],
  ['GET', 'A/config/tidy/identity-accesslist', {}],
  ['DELETE', 'A/config/tidy/identity-accesslist', {}],
  ['POST', 'A/config/tidy/roletag-denylist', tidy],
  ['GET', 'A/config/tidy/roletag-denylist', {}],
  ['DELETE', 'A/config/tidy/roletag-denylist', {}],
  ['POST', 'A/role/:role', role],
  ['GET', 'A/role/:role', {}],
  ['LIST', 'A/roles', {}],
  ['DELETE', 'A/role/:role', {}],
  ['POST', 'A/role/:role/tag', tag],
  ['POST', 'A/login', login],
  ['POST', 'A/roletag-denylist/:role_tag', {}],
  ['GET', 'A/roletag-denylist/:role_tag', {}],
  ['LIST', 'A/roletag-denylist', {}],
  ['DELETE', 'A/roletag-denylist/:role_tag', {}],
  ['POST', 'A/tidy/roletag-denylist', buffer],
  ['GET', 'A/identity-accesslist/:instance_id', {}],
  ['LIST', 'A/identity-accesslist', {}],
  ['DELETE', 'A/identity-accesslist/:instance_id', {}],
  ['POST', 'A/tidy/identity-accesslist', buffer],
]

/** Old and current paths. All paths below an old path moved with the old path. */
export const deprecated: [string, string][] = [
  ['A/roletag-blacklist', 'A/roletag-denylist'],
  ['A/identity-whitelist', 'A/identity-accesslist'],
  ['A/tidy/identity-whitelist', 'A/tidy/identity-accesslist'],
  ['A/tidy/roletag-blacklist', 'A/tidy/roletag-denylist'],
  ['A/config/tidy/identity-whitelist', 'A/config/tidy/identity-accesslist'],
  ['A/config/tidy/roletag-blacklist', 'A/config/tidy/roletag-denylist'],
]

/** Fields that every write requires; `sts_role` only at creation. */
export const required: [path: string, field: string][] = [
  ['A/config/certificate/:cert_name', 'cloud_public_cert'],
]

/** Anonymous paths. */
export const anonymous = ['POST A/login']
