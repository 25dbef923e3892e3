import { clientSettingsAnswer, defaultClientSettings } from '../../auth-method/config/client-settings.ts'
import { severities } from '../../auth-method/review/facts.ts'
import { reviewRuleNames } from '../../auth-method/review/rules.ts'
import { bindingNames, noBindings } from '../../auth-method/roles/bindings.ts'
import { claimBindingNames, claimBindings } from '../../auth-method/roles/claim-bindings.ts'
import { type TokenTermOwner, tokenTermRows } from '../../tokens/terms.ts'
import {
  anyShape,
  arrayShape,
  enumShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  objectShape,
  textArrayShape,
  textShape,
  timeShape,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type AnswerDescriptions, describeAnswer, shapeOfValue } from './describe.ts'

/** Returns the shapes of token parameters in responses, from the table of terms. */
export function tokenTermShapes(taker: TokenTermOwner) {
  const own = tokenTermRows.filter(([_, { of }]) => of.includes(taker))
  const old = tokenTermRows.flatMap(([_, { old, neutral }]) =>
    old?.of.includes(taker) ? [{ ...old, shape: { ...shapeOfValue(neutral), deprecated: true } }] : [],
  )
  const isThere = ({ always }: (typeof old)[number]) => taker === 'token-role' && always === true
  const byName = (rows: typeof old) => Object.fromEntries(rows.map(({ name, shape }) => [name, shape]))
  return {
    required: {
      ...Object.fromEntries(own.map(([_, { name, neutral }]) => [name, shapeOfValue(neutral)])),
      ...byName(old.filter(isThere)),
    },
    optional: byName(old.filter(one => !isThere(one))),
  }
}

const terms = tokenTermShapes('role')

const role = withTitle(
  'Role',
  objectShape(
    {
      auth_type: enumShape('ec2', 'iam', 'jwt'),
      ...Object.fromEntries(bindingNames.map(name => [name, shapeOfValue(noBindings[name])])),
      bound_iam_principal_arn: textArrayShape,
      bound_iam_principal_id: textArrayShape,
      inferred_entity_type: enumShape('', 'ec2_instance'),
      inferred_aws_region: textShape,
      resolve_aws_unique_ids: flagShape,
      role_id: textShape,
      role_tag: textShape,
      allow_instance_migration: flagShape,
      disallow_reauthentication: flagShape,
      ...terms.required,
    },
    {
      ...Object.fromEntries(
        claimBindingNames.map(name => [name, shapeOfValue(claimBindings[name].neutral)] as const),
      ),
      allow_instance_identity_role: flagShape,
      cap_to_session: flagShape,
      revoke_on_termination: flagShape,
      ...terms.optional,
    },
  ),
)

const jwtConfiguration = withTitle(
  'JwtConfiguration',
  objectShape({
    bound_audiences: textArrayShape,
    organizations: textArrayShape,
    jwt_supported_algs: arrayShape(enumShape('RS256', 'ES384')),
    clock_skew_leeway: withDescription(intShape, 'seconds; -1: none'),
    max_token_age: withDescription(intShape, 'seconds'),
    single_use: flagShape,
    allow_several_audiences: flagShape,
    max_key_age: withDescription(intShape, 'seconds'),
    blocked_accounts: textArrayShape,
  }),
)

const issuer = withTitle(
  'Issuer',
  objectShape({
    account_id: textShape,
    partition: enumShape('aws', 'aws-cn'),
    issuer: textShape,
    learnt: flagShape,
    blocked: flagShape,
    superseded: flagShape,
    keys: arrayShape(objectShape({ kid: textShape, alg: enumShape('RS256', 'ES384') })),
    fetched_at: timeShape,
    changed_at: timeShape,
    last_error: textShape,
  }),
)

const organization = withTitle(
  'Organization',
  objectShape({
    role: textShape,
    external_id: textShape,
    max_age: withDescription(intShape, 'seconds'),
    organization_id: withDescription(textShape, 'empty before the first complete round'),
    accounts: intShape,
    completed_at: nullableShape(timeShape),
    last_error: textShape,
  }),
)

const settings = clientSettingsAnswer(defaultClientSettings)
const client = withTitle(
  'ClientConfiguration',
  objectShape({
    ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, shapeOfValue(value)])),
    allowed_sts_header_values: nullableShape(textArrayShape),
  }),
)

const tidySettings = withTitle(
  'TidySettings',
  objectShape({ safety_buffer: withDescription(intShape, 'seconds'), disable_periodic_tidy: flagShape }),
)

const tidied = withTitle(
  'TidyRun',
  objectShape({
    running: flagShape,
    last_start: nullableShape(timeShape),
    last_end: nullableShape(timeShape),
    removed: intShape,
    failed: intShape,
    next_run: nullableShape(timeShape),
  }),
)

const explanation = withTitle(
  'Explanation',
  objectShape(
    {
      role: textShape,
      login_would_succeed: flagShape,
      checks: arrayShape(
        withTitle(
          'LoginCheck',
          objectShape(
            { check: textShape, verdict: enumShape('pass', 'fail', 'not required') },
            {
              seen: withDescription(anyShape, 'what was compared'),
              wanted: withDescription(anyShape, 'what the role admits'),
              reason: textShape,
              message: textShape,
            },
          ),
        ),
      ),
      token: nullableShape(
        withTitle(
          'TokenPreview',
          objectShape({
            policies: textArrayShape,
            type: enumShape('service', 'batch'),
            ttl: intShape,
            metadata: mapShape(textShape),
            alias_name: textShape,
          }),
        ),
      ),
    },
    {
      auth_type: enumShape('ec2', 'iam', 'jwt'),
      signatures: arrayShape(
        objectShape({
          algorithm: textShape,
          documents: textShape,
          accepted: flagShape,
          works_on_this_runtime: flagShape,
        }),
      ),
    },
  ),
)

const ruleShapes = {
  rule: enumShape(...reviewRuleNames),
  severity: enumShape(...severities),
}

const review = withTitle(
  'Review',
  objectShape({
    findings: arrayShape(
      withTitle(
        'ReviewFinding',
        objectShape({
          ...ruleShapes,
          subject: withDescription(textShape, 'path below the mount'),
          text: withDescription(textShape, 'what is wrong'),
          fix: withDescription(textShape, 'what to do'),
        }),
      ),
    ),
    rules: arrayShape(
      withTitle(
        'ReviewVerdict',
        objectShape(
          {
            ...ruleShapes,
            verdict: enumShape('found', 'clean', 'not asked'),
            findings: withDescription(intShape, 'number of findings, also of those that are left out'),
          },
          { why: withDescription(textShape, 'why not everything was looked at') },
        ),
      ),
    ),
  }),
)

const tidyOf = (list: string, name: string): AnswerDescriptions => ({
  [`POST /auth/:mount/config/tidy/${list}`]: describeAnswer(`writeTidySettingsOf${name}`, undefined, {
    requestExample: { safety_buffer: '72h' },
  }),
  [`GET /auth/:mount/config/tidy/${list}`]: describeAnswer(`readTidySettingsOf${name}`, tidySettings),
  [`DELETE /auth/:mount/config/tidy/${list}`]: describeAnswer(`deleteTidySettingsOf${name}`),
  [`POST /auth/:mount/tidy/${list}`]: describeAnswer(`tidy${name}`, undefined, {
    requestExample: { safety_buffer: '72h' },
  }),
})

const certificate = objectShape({
  cloud_public_cert: textShape,
  aws_public_cert: textShape,
  type: enumShape('pkcs7', 'identity'),
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
export const authMethodAnswers: AnswerDescriptions = {
  'POST /auth/:mount/login': describeAnswer('login', undefined, { requestExample: login }),
  'POST /auth/:mount/role/:role/explain': describeAnswer('explainLogin', explanation, {
    requestExample: login,
  }),
  'GET /auth/:mount/review': describeAnswer('reviewMount', review),
  'POST /auth/:mount/review': describeAnswer('reviewRole', review, {
    requestExample: { role: 'web', auth_type: 'ec2', bound_account_id: ['111122223333'] },
  }),

  'POST /auth/:mount/config/client': describeAnswer('writeClientConfiguration', undefined, {
    requestExample: { max_retries: 2 },
  }),
  'GET /auth/:mount/config/client': describeAnswer('readClientConfiguration', client),
  'DELETE /auth/:mount/config/client': describeAnswer('deleteClientConfiguration'),
  'POST /auth/:mount/config/rotate-root': describeAnswer(
    'rotateAccessKey',
    objectShape({ access_key: textShape }),
  ),
  'POST /auth/:mount/config/identity': describeAnswer('writeIdentityConfiguration', undefined, {
    requestExample: { iam_alias: 'unique_id', iam_metadata: ['account_id'] },
  }),
  'GET /auth/:mount/config/identity': describeAnswer(
    'readIdentityConfiguration',
    withTitle(
      'IdentityConfiguration',
      objectShape(
        {
          iam_alias: textShape,
          iam_metadata: textArrayShape,
          ec2_alias: textShape,
          ec2_metadata: textArrayShape,
        },
        { jwt_alias: textShape, jwt_metadata: textArrayShape },
      ),
    ),
  ),
  'POST /auth/:mount/config/review': describeAnswer('writeReviewConfiguration', undefined, {
    requestExample: { track_use: true },
  }),
  'GET /auth/:mount/config/review': describeAnswer(
    'readReviewConfiguration',
    withTitle('ReviewConfiguration', objectShape({ track_use: flagShape }, { tracked_since: timeShape })),
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
  'POST /auth/:mount/config/jwt': describeAnswer('writeJwtConfiguration', undefined, {
    requestExample: {
      bound_audiences: ['https://vault.example.com'],
      organizations: ['o-a1b2c3d4e5'],
    },
  }),
  'GET /auth/:mount/config/jwt': describeAnswer('readJwtConfiguration', jwtConfiguration),
  'DELETE /auth/:mount/config/jwt': describeAnswer('deleteJwtConfiguration'),
  'POST /auth/:mount/config/jwt/issuer/:issuer_id': describeAnswer('writeIssuer', undefined, {
    requestExample: { account_id: '111122223333' },
  }),
  'GET /auth/:mount/config/jwt/issuer/:issuer_id': describeAnswer('readIssuer', issuer),
  'DELETE /auth/:mount/config/jwt/issuer/:issuer_id': describeAnswer('deleteIssuer'),
  'LIST /auth/:mount/config/jwt/issuers': describeAnswer(
    'listIssuers',
    objectShape({
      account_id: textShape,
      learnt: flagShape,
      blocked: flagShape,
      superseded: flagShape,
      fetched_at: timeShape,
      last_error: textShape,
    }),
  ),
  'POST /auth/:mount/config/organization': describeAnswer('writeOrganization', undefined, {
    requestExample: { role: 'arn:aws:iam::111122223333:role/cloud-auth-organization', max_age: '1h' },
  }),
  'GET /auth/:mount/config/organization': describeAnswer('readOrganization', organization),
  'DELETE /auth/:mount/config/organization': describeAnswer('deleteOrganization'),
  'POST /auth/:mount/config/sts/:account_id': describeAnswer('writeSatelliteAccount', undefined, {
    requestExample: { sts_role: 'arn:aws:iam::111122223333:role/cloud-auth-satellite' },
  }),
  'GET /auth/:mount/config/sts/:account_id': describeAnswer(
    'readSatelliteAccount',
    withTitle('SatelliteAccount', objectShape({ sts_role: textShape, external_id: textShape })),
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
    objectShape({ tag_key: textShape, tag_value: textShape }),
    {
      requestExample: { policies: ['default'], max_ttl: '1h' },
    },
  ),
  'LIST /auth/:mount/roles': describeAnswer('listRoles'),

  'GET /auth/:mount/identity-accesslist/:instance_id': describeAnswer(
    'readAccessListEntry',
    withTitle(
      'AccessListEntry',
      objectShape({
        client_nonce: textShape,
        creation_time: timeShape,
        disallow_reauthentication: flagShape,
        expiration_time: timeShape,
        last_updated_time: timeShape,
        pending_time: textShape,
        role: textShape,
      }),
    ),
  ),
  'DELETE /auth/:mount/identity-accesslist/:instance_id': describeAnswer('deleteAccessListEntry'),
  'LIST /auth/:mount/identity-accesslist': describeAnswer('listAccessList'),
  'POST /auth/:mount/roletag-denylist/:role_tag': describeAnswer('denyRoleTag'),
  'GET /auth/:mount/roletag-denylist/:role_tag': describeAnswer(
    'readDeniedRoleTag',
    withTitle('DeniedRoleTag', objectShape({ creation_time: timeShape, expiration_time: timeShape })),
  ),
  'DELETE /auth/:mount/roletag-denylist/:role_tag': describeAnswer('allowRoleTag'),
  'LIST /auth/:mount/roletag-denylist': describeAnswer('listDeniedRoleTags'),

  ...tidyOf('identity-accesslist', 'AccessList'),
  ...tidyOf('roletag-denylist', 'DeniedRoleTags'),
  'GET /auth/:mount/tidy-status': describeAnswer(
    'readTidyStatus',
    objectShape({ identity_accesslist: tidied, roletag_denylist: tidied }),
  ),
}
