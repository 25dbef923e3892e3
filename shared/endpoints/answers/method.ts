import { defaultSettings, settingsAnswer } from '../../auth-method/config/client-settings.ts'
import { bindingNames, noBindings } from '../../auth-method/roles/bindings.ts'
import { type TermOwner, termRows } from '../../tokens/terms.ts'
import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  enumOf,
  manyOf,
  mapOf,
  object,
  orNull,
  texts,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type Answers, describeAnswer, shapeLike } from './describe.ts'

/** Returns the shapes of token parameters in responses, from the table of terms. */
export function termShapes(taker: TermOwner) {
  const own = termRows.filter(([_, { of }]) => of.includes(taker))
  const old = termRows.flatMap(([_, { old, neutral }]) =>
    old?.of.includes(taker) ? [{ ...old, shape: { ...shapeLike(neutral), deprecated: true } }] : [],
  )
  const isThere = ({ always }: (typeof old)[number]) => taker === 'token-role' && always === true
  const byName = (rows: typeof old) => Object.fromEntries(rows.map(({ name, shape }) => [name, shape]))
  return {
    required: {
      ...Object.fromEntries(own.map(([_, { name, neutral }]) => [name, shapeLike(neutral)])),
      ...byName(old.filter(isThere)),
    },
    optional: byName(old.filter(one => !isThere(one))),
  }
}

const terms = termShapes('role')

const role = withTitle(
  'Role',
  object(
    {
      auth_type: enumOf('ec2', 'iam'),
      ...Object.fromEntries(bindingNames.map(name => [name, shapeLike(noBindings[name])])),
      bound_iam_principal_arn: texts,
      bound_iam_principal_id: texts,
      inferred_entity_type: enumOf('', 'ec2_instance'),
      inferred_aws_region: aText,
      resolve_aws_unique_ids: aFlag,
      role_id: aText,
      role_tag: aText,
      allow_instance_migration: aFlag,
      disallow_reauthentication: aFlag,
      ...terms.required,
    },
    terms.optional,
  ),
)

const settings = settingsAnswer(defaultSettings)
const client = withTitle(
  'ClientConfiguration',
  object({
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, shapeLike(value)])),
    allowed_sts_header_values: orNull(texts),
  }),
)

const tidySettings = withTitle(
  'TidySettings',
  object({ safety_buffer: withDescription(anInt, 'seconds'), disable_periodic_tidy: aFlag }),
)

const tidied = withTitle(
  'TidyRun',
  object({
    running: aFlag,
    last_start: orNull(aTime),
    last_end: orNull(aTime),
    removed: anInt,
    failed: anInt,
    next_run: orNull(aTime),
  }),
)

const explanation = withTitle(
  'Explanation',
  object(
    {
      role: aText,
      login_would_succeed: aFlag,
      checks: manyOf(
        withTitle(
          'LoginCheck',
          object(
            { check: aText, verdict: enumOf('pass', 'fail', 'not required') },
            { seen: withDescription(anyValue, 'what was compared'), reason: aText, message: aText },
          ),
        ),
      ),
      token: orNull(
        withTitle(
          'TokenPreview',
          object({
            policies: texts,
            type: enumOf('service', 'batch'),
            ttl: anInt,
            metadata: mapOf(aText),
            alias_name: aText,
          }),
        ),
      ),
    },
    {
      auth_type: enumOf('ec2', 'iam'),
      signatures: manyOf(
        object({ algorithm: aText, documents: aText, accepted: aFlag, works_on_this_runtime: aFlag }),
      ),
    },
  ),
)

const tidyOf = (list: string, name: string): Answers => ({
  [`POST /auth/:mount/config/tidy/${list}`]: describeAnswer(`writeTidySettingsOf${name}`, undefined, {
    requestExample: { safety_buffer: '72h' },
  }),
  [`GET /auth/:mount/config/tidy/${list}`]: describeAnswer(`readTidySettingsOf${name}`, tidySettings),
  [`DELETE /auth/:mount/config/tidy/${list}`]: describeAnswer(`deleteTidySettingsOf${name}`),
  [`POST /auth/:mount/tidy/${list}`]: describeAnswer(`tidy${name}`, undefined, {
    requestExample: { safety_buffer: '72h' },
  }),
})

const certificate = object({
  cloud_public_cert: aText,
  aws_public_cert: aText,
  type: enumOf('pkcs7', 'identity'),
})

/** A login by a signed caller-identity request. */
const login = {
  role: 'web',
  iam_http_request_method: 'POST',
  iam_request_url: 'aHR0cHM6Ly9zdHMuYW1hem9uYXdzLmNvbS8=',
  iam_request_body: 'QWN0aW9uPUdldENhbGxlcklkZW50aXR5JlZlcnNpb249MjAxMS0wNi0xNQ==',
  iam_request_headers: { Authorization: ['AWS4-HMAC-SHA256 Credential=…'] },
}

/** Responses of the auth method: logins and configuration. */
export const methodAnswers: Answers = {
  'POST /auth/:mount/login': describeAnswer('login', undefined, { requestExample: login }),
  'POST /auth/:mount/role/:role/explain': describeAnswer('explainLogin', explanation, {
    requestExample: login,
  }),

  'POST /auth/:mount/config/client': describeAnswer('writeClientConfiguration', undefined, {
    requestExample: { max_retries: 2 },
  }),
  'GET /auth/:mount/config/client': describeAnswer('readClientConfiguration', client),
  'DELETE /auth/:mount/config/client': describeAnswer('deleteClientConfiguration'),
  'POST /auth/:mount/config/rotate-root': describeAnswer('rotateAccessKey', object({ access_key: aText })),
  'POST /auth/:mount/config/identity': describeAnswer('writeIdentityConfiguration', undefined, {
    requestExample: { iam_alias: 'unique_id', iam_metadata: ['account_id'] },
  }),
  'GET /auth/:mount/config/identity': describeAnswer(
    'readIdentityConfiguration',
    withTitle(
      'IdentityConfiguration',
      object({ iam_alias: aText, iam_metadata: texts, ec2_alias: aText, ec2_metadata: texts }),
    ),
  ),
  'POST /auth/:mount/config/certificate/:cert_name': describeAnswer('writeCertificate', undefined, {
    requestExample: {
      cloud_public_cert: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----',
      type: 'pkcs7',
    },
  }),
  'GET /auth/:mount/config/certificate/:cert_name': describeAnswer(
    'readCertificate',
    withTitle('Certificate', certificate),
  ),
  'DELETE /auth/:mount/config/certificate/:cert_name': describeAnswer('deleteCertificate'),
  'LIST /auth/:mount/config/certificates': describeAnswer('listCertificates'),
  'POST /auth/:mount/config/sts/:account_id': describeAnswer('writeSatelliteAccount', undefined, {
    requestExample: { sts_role: 'arn:aws:iam::111122223333:role/cloud-auth-satellite' },
  }),
  'GET /auth/:mount/config/sts/:account_id': describeAnswer(
    'readSatelliteAccount',
    withTitle('SatelliteAccount', object({ sts_role: aText, external_id: aText })),
  ),
  'DELETE /auth/:mount/config/sts/:account_id': describeAnswer('deleteSatelliteAccount'),
  'LIST /auth/:mount/config/sts': describeAnswer('listSatelliteAccounts'),

  'POST /auth/:mount/role/:role': describeAnswer('writeRole', undefined, {
    requestExample: {
      auth_type: 'ec2',
      bound_region: ['us-east-1'],
      token_policies: ['web'],
      token_ttl: '1h',
    },
  }),
  'GET /auth/:mount/role/:role': describeAnswer('readRole', role),
  'DELETE /auth/:mount/role/:role': describeAnswer('deleteRole'),
  'POST /auth/:mount/role/:role/tag': describeAnswer(
    'makeRoleTag',
    object({ tag_key: aText, tag_value: aText }),
    {
      requestExample: { policies: ['default'], max_ttl: '1h' },
    },
  ),
  'LIST /auth/:mount/roles': describeAnswer('listRoles'),

  'GET /auth/:mount/identity-accesslist/:instance_id': describeAnswer(
    'readAccessListEntry',
    withTitle(
      'AccessListEntry',
      object({
        client_nonce: aText,
        creation_time: aTime,
        disallow_reauthentication: aFlag,
        expiration_time: aTime,
        last_updated_time: aTime,
        pending_time: aText,
        role: aText,
      }),
    ),
  ),
  'DELETE /auth/:mount/identity-accesslist/:instance_id': describeAnswer('deleteAccessListEntry'),
  'LIST /auth/:mount/identity-accesslist': describeAnswer('listAccessList'),
  'POST /auth/:mount/roletag-denylist/:role_tag': describeAnswer('denyRoleTag'),
  'GET /auth/:mount/roletag-denylist/:role_tag': describeAnswer(
    'readDeniedRoleTag',
    withTitle('DeniedRoleTag', object({ creation_time: aTime, expiration_time: aTime })),
  ),
  'DELETE /auth/:mount/roletag-denylist/:role_tag': describeAnswer('allowRoleTag'),
  'LIST /auth/:mount/roletag-denylist': describeAnswer('listDeniedRoleTags'),

  ...tidyOf('identity-accesslist', 'AccessList'),
  ...tidyOf('roletag-denylist', 'DeniedRoleTags'),
  'GET /auth/:mount/tidy-status': describeAnswer(
    'readTidyStatus',
    object({ identity_accesslist: tidied, roletag_denylist: tidied }),
  ),
}
