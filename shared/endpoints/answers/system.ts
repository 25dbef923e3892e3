import { mountTokenTypes } from '../../model/mount.ts'
import {
  anyShape,
  arrayShape,
  enumShape,
  flagShape,
  intShape,
  mapShape,
  nullableShape,
  nullShape,
  objectShape,
  textArrayShape,
  textShape,
  timeOrEmptyShape,
  timeShape,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type AnswerDescriptions, describeAnswer } from './describe.ts'

const kept = {
  listing_visibility: textShape,
  audit_non_hmac_request_keys: textArrayShape,
  audit_non_hmac_response_keys: textArrayShape,
  passthrough_request_headers: textArrayShape,
  allowed_response_headers: textArrayShape,
}
const leases = {
  default_lease_ttl: withDescription(intShape, 'seconds'),
  max_lease_ttl: withDescription(intShape, 'seconds'),
  force_no_cache: flagShape,
}

const tuning = withTitle(
  'MountTuning',
  objectShape({ ...leases, token_type: enumShape(...mountTokenTypes), description: textShape }, kept),
)

const mounted = {
  accessor: textShape,
  type: textShape,
  description: textShape,
  uuid: textShape,
  local: flagShape,
  seal_wrap: flagShape,
  external_entropy_access: flagShape,
  options: objectShape({}),
  plugin_version: textShape,
  running_plugin_version: textShape,
  running_sha256: textShape,
}
const mount = withTitle(
  'Mount',
  objectShape({
    ...mounted,
    config: objectShape({ ...leases, token_type: enumShape(...mountTokenTypes) }, kept),
  }),
)
const engine = withTitle('Engine', objectShape({ ...mounted, config: objectShape(leases) }))
const visible = objectShape({ type: textShape, description: textShape, options: objectShape({}) })

const tune = { requestExample: { default_lease_ttl: '1h', max_lease_ttl: '24h' } }

/** Responses about the mounts of the auth method. */
export const mountAnswers: AnswerDescriptions = {
  'GET /sys/auth/:method_path/tune': describeAnswer('readTuning', tuning),
  'POST /sys/auth/:method_path/tune': describeAnswer('tuneMount', undefined, tune),
  'GET /sys/mounts/auth/:method_path/tune': describeAnswer('readTuningAmongMounts', tuning),
  'POST /sys/mounts/auth/:method_path/tune': describeAnswer('tuneMountAmongMounts', undefined, tune),
  'GET /sys/auth': describeAnswer('listMounts', mapShape(mount)),
  'GET /sys/mounts': describeAnswer('listEngines', objectShape({ 'identity/': engine, 'sys/': engine })),
  'GET /sys/auth/:method_path': describeAnswer('readMount', mount),
  'POST /sys/auth/:method_path': describeAnswer('enableMount', undefined, {
    requestExample: { type: 'aws', description: 'second' },
  }),
  'DELETE /sys/auth/:method_path': describeAnswer('disableMount'),
  'GET /sys/internal/ui/mounts': describeAnswer(
    'listVisibleMounts',
    objectShape({ auth: mapShape(visible), secret: objectShape({}) }),
  ),
}

const policy = { requestExample: { policy: 'path "secret/*" { capabilities = ["read"] }' } }
const names = objectShape({ keys: textArrayShape, policies: textArrayShape })
const capabilities = withDescription(
  mapShape(textArrayShape),
  'capabilities by path; a request for a single path also gets `capabilities`',
)

/** Responses about policies and capabilities. */
export const policyAnswers: AnswerDescriptions = {
  'POST /sys/policies/acl/:policy_name': describeAnswer('writePolicy', undefined, policy),
  'GET /sys/policies/acl/:policy_name': describeAnswer(
    'readPolicy',
    objectShape({ name: textShape, policy: textShape }),
  ),
  'DELETE /sys/policies/acl/:policy_name': describeAnswer('deletePolicy'),
  'LIST /sys/policies/acl': describeAnswer('listPolicies'),
  'POST /sys/policy/:policy_name': describeAnswer('writeRules', undefined, policy),
  'GET /sys/policy/:policy_name': describeAnswer(
    'readRules',
    objectShape({ name: textShape, rules: textShape }),
  ),
  'DELETE /sys/policy/:policy_name': describeAnswer('deleteRules'),
  'GET /sys/policy': describeAnswer('listRules', names),
  'LIST /sys/policy': describeAnswer('listRulesByFlag', names),
  'POST /sys/capabilities-self': describeAnswer('readOwnCapabilities', capabilities, {
    requestExample: { paths: ['sys/health'] },
  }),
  'POST /sys/capabilities': describeAnswer('readCapabilitiesOfToken', capabilities, {
    requestExample: { token: 'hvs.CAESIJ', paths: ['sys/health'] },
  }),
  'POST /sys/capabilities-accessor': describeAnswer('readCapabilitiesOfAccessor', capabilities, {
    requestExample: { accessor: '8609694a7cdc', paths: ['sys/health'] },
  }),
}

const rule = objectShape(
  { capabilities: textArrayShape },
  {
    allowed_parameters: mapShape(arrayShape(anyShape)),
    denied_parameters: mapShape(arrayShape(anyShape)),
    required_parameters: textArrayShape,
    min_wrapping_ttl: withDescription(intShape, 'seconds'),
    max_wrapping_ttl: withDescription(intShape, 'seconds'),
  },
)

const health = withTitle(
  'Health',
  objectShape(
    {
      initialized: flagShape,
      sealed: flagShape,
      standby: flagShape,
      performance_standby: flagShape,
      replication_performance_mode: enumShape('disabled'),
      replication_dr_mode: enumShape('disabled', 'primary', 'secondary', 'bootstrapping'),
      server_time_utc: withDescription(intShape, 'epoch seconds'),
      version: textShape,
      product_version: textShape,
      enterprise: flagShape,
      cluster_name: textShape,
      cluster_id: textShape,
      echo_duration_ms: intShape,
      clock_skew_ms: intShape,
      replication_primary_canary_age_ms: intShape,
    },
    {
      last_wal: intShape,
      license: objectShape({ state: textShape, expiry_time: timeShape, terminated: flagShape }),
    },
  ),
)

const sealStatus = withTitle(
  'SealStatus',
  objectShape(
    {
      type: textShape,
      initialized: flagShape,
      sealed: flagShape,
      t: intShape,
      n: intShape,
      progress: intShape,
      nonce: textShape,
      version: textShape,
      product_version: textShape,
      build_date: textShape,
      migration: flagShape,
      recovery_seal: flagShape,
      recovery_seal_type: textShape,
      storage_type: textShape,
    },
    { cluster_name: textShape, cluster_id: textShape },
  ),
)

const leader = objectShape({
  ha_enabled: flagShape,
  is_self: flagShape,
  leader_address: textShape,
  leader_cluster_address: textShape,
  performance_standby: flagShape,
  performance_standby_last_remote_wal: intShape,
})

const node = objectShape({
  hostname: textShape,
  api_address: textShape,
  cluster_address: textShape,
  active_node: flagShape,
  last_echo: nullShape,
  version: textShape,
  echo_duration_ms: intShape,
  clock_skew_ms: intShape,
  replication_primary_canary_age_ms: intShape,
})

const olderTerm = objectShape({
  id: textShape,
  term: intShape,
  install_time: timeShape,
  unused_since: timeOrEmptyShape,
  destroyed_time: timeOrEmptyShape,
  held: flagShape,
  waits_for: textArrayShape,
})
const reencryption = objectShape({
  term: intShape,
  state: enumShape('waiting', 'running', 'done'),
  own_keys_done: flagShape,
  since: timeOrEmptyShape,
  done_time: timeOrEmptyShape,
  pass: intShape,
  seen: intShape,
  of: intShape,
  written: intShape,
  left: intShape,
  unreadable: objectShape({ count: intShape, names: textArrayShape }),
})

/** Responses about the cluster. */
export const systemAnswers: AnswerDescriptions = {
  'GET /sys/health': describeAnswer('readHealth', health),
  'GET /sys/seal-status': describeAnswer('readSealStatus', sealStatus),
  'GET /sys/leader': describeAnswer('readLeader', leader),
  'GET /sys/init': describeAnswer('readInitialisation', objectShape({ initialized: flagShape })),
  'POST /sys/init': describeAnswer(
    'initialise',
    objectShape({
      keys: textArrayShape,
      keys_base64: textArrayShape,
      recovery_keys: textArrayShape,
      recovery_keys_base64: textArrayShape,
      root_token: textShape,
    }),
    { requestExample: { recovery_shares: 5, recovery_threshold: 3 } },
  ),
  'GET /sys/ha-status': describeAnswer('listNodes', objectShape({ nodes: arrayShape(node) })),
  'LIST /sys/version-history': describeAnswer(
    'listVersions',
    objectShape({ build_date: textShape, previous_version: nullShape, timestamp_installed: timeShape }),
  ),
  'GET /sys/internal/ui/resultant-acl': describeAnswer(
    'readResultantAcl',
    objectShape(
      { root: flagShape, chroot_namespace: textShape },
      { exact_paths: mapShape(rule), glob_paths: mapShape(rule) },
    ),
  ),
  'GET /sys/internal/specs/openapi': describeAnswer(
    'readOpenApi',
    withDescription({ type: 'object', additionalProperties: anyShape }, 'this document'),
  ),
  'GET /sys/audit': describeAnswer('listAuditDevices', objectShape({})),
  'POST /sys/audit-hash/:method_path': describeAnswer('hashAsInAudit', objectShape({ hash: textShape }), {
    requestExample: { input: 'text' },
  }),
  'POST /sys/rotate': describeAnswer('rotate', undefined, { requestExample: { retire: false } }),
  'GET /sys/key-status': describeAnswer(
    'readKeyStatus',
    objectShape(
      { term: intShape, install_time: timeShape },
      { reencryption, older_terms: arrayShape(olderTerm) },
    ),
  ),
}

const license = objectShape({
  license_id: textShape,
  features: textArrayShape,
  start_time: timeShape,
  expiration_time: timeShape,
  terminated: flagShape,
})

/** The licence of the deployment. */
export const licenseShape = withTitle(
  'LicenseStatus',
  objectShape({
    autoloading_used: flagShape,
    autoloaded: nullableShape(license),
    persisted_autoload: nullableShape(license),
  }),
)
