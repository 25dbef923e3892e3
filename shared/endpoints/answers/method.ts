import { defaultSettings, settingsAnswer } from '../../auth-method/config/client-settings.ts'
import { bindingNames, noBindings } from '../../auth-method/roles/bindings.ts'
import { type Taker, termRows } from '../../tokens/terms.ts'
import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  manyOf,
  mapOf,
  object,
  orNull,
  saying,
  texts,
  titled,
  words,
} from '../../values/shape.ts'
import { type Answers, like, told } from './told.ts'

/** How terms of tokens read back, from the table of terms. */
export function termShapes(taker: Taker) {
  const own = termRows.filter(([_, { of }]) => of.includes(taker))
  const old = termRows.flatMap(([_, { old, neutral }]) =>
    old?.of.includes(taker) ? [{ ...old, shape: { ...like(neutral), deprecated: true } }] : [],
  )
  const isThere = ({ always }: (typeof old)[number]) => taker === 'token-role' && always === true
  const byName = (rows: typeof old) => Object.fromEntries(rows.map(({ name, shape }) => [name, shape]))
  return {
    required: {
      ...Object.fromEntries(own.map(([_, { name, neutral }]) => [name, like(neutral)])),
      ...byName(old.filter(isThere)),
    },
    optional: byName(old.filter(one => !isThere(one))),
  }
}

const terms = termShapes('role')

const role = titled(
  'Role',
  object(
    {
      auth_type: words('ec2', 'iam'),
      ...Object.fromEntries(bindingNames.map(name => [name, like(noBindings[name])])),
      bound_iam_principal_arn: texts,
      bound_iam_principal_id: texts,
      inferred_entity_type: words('', 'ec2_instance'),
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
const client = titled(
  'ClientConfiguration',
  object({
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, like(value)])),
    allowed_sts_header_values: orNull(texts),
  }),
)

const tidySettings = titled(
  'TidySettings',
  object({ safety_buffer: saying(anInt, 'seconds'), disable_periodic_tidy: aFlag }),
)

const tidied = titled(
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

const explanation = titled(
  'Explanation',
  object(
    {
      role: aText,
      login_would_succeed: aFlag,
      checks: manyOf(
        titled(
          'LoginCheck',
          object(
            { check: aText, verdict: words('pass', 'fail', 'not required') },
            { seen: saying(anyValue, 'what was compared'), reason: aText, message: aText },
          ),
        ),
      ),
      token: orNull(
        titled(
          'TokenPreview',
          object({
            policies: texts,
            type: words('service', 'batch'),
            ttl: anInt,
            metadata: mapOf(aText),
            alias_name: aText,
          }),
        ),
      ),
    },
    {
      auth_type: words('ec2', 'iam'),
      signatures: manyOf(
        object({ algorithm: aText, documents: aText, accepted: aFlag, works_on_this_runtime: aFlag }),
      ),
    },
  ),
)

const tidyOf = (list: string, name: string): Answers => ({
  [`POST /auth/:mount/config/tidy/${list}`]: told(`writeTidySettingsOf${name}`, undefined, {
    sent: { safety_buffer: '72h' },
  }),
  [`GET /auth/:mount/config/tidy/${list}`]: told(`readTidySettingsOf${name}`, tidySettings),
  [`DELETE /auth/:mount/config/tidy/${list}`]: told(`deleteTidySettingsOf${name}`),
  [`POST /auth/:mount/tidy/${list}`]: told(`tidy${name}`, undefined, { sent: { safety_buffer: '72h' } }),
})

const certificate = object({
  cloud_public_cert: aText,
  aws_public_cert: aText,
  type: words('pkcs7', 'identity'),
})

/** A login by a signed caller-identity request. */
const login = {
  role: 'web',
  iam_http_request_method: 'POST',
  iam_request_url: 'aHR0cHM6Ly9zdHMuYW1hem9uYXdzLmNvbS8=',
  iam_request_body: 'QWN0aW9uPUdldENhbGxlcklkZW50aXR5JlZlcnNpb249MjAxMS0wNi0xNQ==',
  iam_request_headers: { Authorization: ['AWS4-HMAC-SHA256 Credential=…'] },
}

/** The auth method: logins, and what is configured for them. */
export const methodAnswers: Answers = {
  'POST /auth/:mount/login': told('login', undefined, { sent: login }),
  'POST /auth/:mount/role/:role/explain': told('explainLogin', explanation, { sent: login }),

  'POST /auth/:mount/config/client': told('writeClientConfiguration', undefined, {
    sent: { max_retries: 2 },
  }),
  'GET /auth/:mount/config/client': told('readClientConfiguration', client),
  'DELETE /auth/:mount/config/client': told('deleteClientConfiguration'),
  'POST /auth/:mount/config/rotate-root': told('rotateAccessKey', object({ access_key: aText })),
  'POST /auth/:mount/config/identity': told('writeIdentityConfiguration', undefined, {
    sent: { iam_alias: 'unique_id', iam_metadata: ['account_id'] },
  }),
  'GET /auth/:mount/config/identity': told(
    'readIdentityConfiguration',
    titled(
      'IdentityConfiguration',
      object({ iam_alias: aText, iam_metadata: texts, ec2_alias: aText, ec2_metadata: texts }),
    ),
  ),
  'POST /auth/:mount/config/certificate/:cert_name': told('writeCertificate', undefined, {
    sent: { cloud_public_cert: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----', type: 'pkcs7' },
  }),
  'GET /auth/:mount/config/certificate/:cert_name': told(
    'readCertificate',
    titled('Certificate', certificate),
  ),
  'DELETE /auth/:mount/config/certificate/:cert_name': told('deleteCertificate'),
  'LIST /auth/:mount/config/certificates': told('listCertificates'),
  'POST /auth/:mount/config/sts/:account_id': told('writeSatelliteAccount', undefined, {
    sent: { sts_role: 'arn:aws:iam::111122223333:role/cloud-auth-satellite' },
  }),
  'GET /auth/:mount/config/sts/:account_id': told(
    'readSatelliteAccount',
    titled('SatelliteAccount', object({ sts_role: aText, external_id: aText })),
  ),
  'DELETE /auth/:mount/config/sts/:account_id': told('deleteSatelliteAccount'),
  'LIST /auth/:mount/config/sts': told('listSatelliteAccounts'),

  'POST /auth/:mount/role/:role': told('writeRole', undefined, {
    sent: { auth_type: 'ec2', bound_region: ['us-east-1'], token_policies: ['web'], token_ttl: '1h' },
  }),
  'GET /auth/:mount/role/:role': told('readRole', role),
  'DELETE /auth/:mount/role/:role': told('deleteRole'),
  'POST /auth/:mount/role/:role/tag': told('makeRoleTag', object({ tag_key: aText, tag_value: aText }), {
    sent: { policies: ['default'], max_ttl: '1h' },
  }),
  'LIST /auth/:mount/roles': told('listRoles'),

  'GET /auth/:mount/identity-accesslist/:instance_id': told(
    'readAccessListEntry',
    titled(
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
  'DELETE /auth/:mount/identity-accesslist/:instance_id': told('deleteAccessListEntry'),
  'LIST /auth/:mount/identity-accesslist': told('listAccessList'),
  'POST /auth/:mount/roletag-denylist/:role_tag': told('denyRoleTag'),
  'GET /auth/:mount/roletag-denylist/:role_tag': told(
    'readDeniedRoleTag',
    titled('DeniedRoleTag', object({ creation_time: aTime, expiration_time: aTime })),
  ),
  'DELETE /auth/:mount/roletag-denylist/:role_tag': told('allowRoleTag'),
  'LIST /auth/:mount/roletag-denylist': told('listDeniedRoleTags'),

  ...tidyOf('identity-accesslist', 'AccessList'),
  ...tidyOf('roletag-denylist', 'DeniedRoleTags'),
  'GET /auth/:mount/tidy-status': told(
    'readTidyStatus',
    object({ identity_accesslist: tidied, roletag_denylist: tidied }),
  ),
}
