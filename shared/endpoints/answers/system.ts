import { mountTokenTypes } from '../../model/mount.ts'
import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  enumOf,
  manyOf,
  mapOf,
  nullShape,
  object,
  orNull,
  texts,
  timeOrEmpty,
  withDescription,
  withTitle,
} from '../../values/shape.ts'
import { type Answers, describeAnswer } from './describe.ts'

const kept = {
  listing_visibility: aText,
  audit_non_hmac_request_keys: texts,
  audit_non_hmac_response_keys: texts,
  passthrough_request_headers: texts,
  allowed_response_headers: texts,
}
const leases = {
  default_lease_ttl: withDescription(anInt, 'seconds'),
  max_lease_ttl: withDescription(anInt, 'seconds'),
  force_no_cache: aFlag,
}

const tuning = withTitle(
  'MountTuning',
  object({ ...leases, token_type: enumOf(...mountTokenTypes), description: aText }, kept),
)

const mounted = {
  accessor: aText,
  type: aText,
  description: aText,
  uuid: aText,
  local: aFlag,
  seal_wrap: aFlag,
  external_entropy_access: aFlag,
  options: object({}),
  plugin_version: aText,
  running_plugin_version: aText,
  running_sha256: aText,
}
const mount = withTitle(
  'Mount',
  object({ ...mounted, config: object({ ...leases, token_type: enumOf(...mountTokenTypes) }, kept) }),
)
const engine = withTitle('Engine', object({ ...mounted, config: object(leases) }))
const visible = object({ type: aText, description: aText, options: object({}) })

const tune = { requestExample: { default_lease_ttl: '1h', max_lease_ttl: '24h' } }

/** Responses about the mounts of the auth method. */
export const mountAnswers: Answers = {
  'GET /sys/auth/:method_path/tune': describeAnswer('readTuning', tuning),
  'POST /sys/auth/:method_path/tune': describeAnswer('tuneMount', undefined, tune),
  'GET /sys/mounts/auth/:method_path/tune': describeAnswer('readTuningAmongMounts', tuning),
  'POST /sys/mounts/auth/:method_path/tune': describeAnswer('tuneMountAmongMounts', undefined, tune),
  'GET /sys/auth': describeAnswer('listMounts', mapOf(mount)),
  'GET /sys/mounts': describeAnswer('listEngines', object({ 'identity/': engine, 'sys/': engine })),
  'GET /sys/auth/:method_path': describeAnswer('readMount', mount),
  'POST /sys/auth/:method_path': describeAnswer('enableMount', undefined, {
    requestExample: { type: 'aws', description: 'second' },
  }),
  'DELETE /sys/auth/:method_path': describeAnswer('disableMount'),
  'GET /sys/internal/ui/mounts': describeAnswer(
    'listVisibleMounts',
    object({ auth: mapOf(visible), secret: object({}) }),
  ),
}

const policy = { requestExample: { policy: 'path "secret/*" { capabilities = ["read"] }' } }
const names = object({ keys: texts, policies: texts })
const capabilities = withDescription(mapOf(texts), 'by path; `capabilities` too where one path was asked for')

/** Responses about policies and capabilities. */
export const policyAnswers: Answers = {
  'POST /sys/policies/acl/:policy_name': describeAnswer('writePolicy', undefined, policy),
  'GET /sys/policies/acl/:policy_name': describeAnswer('readPolicy', object({ name: aText, policy: aText })),
  'DELETE /sys/policies/acl/:policy_name': describeAnswer('deletePolicy'),
  'LIST /sys/policies/acl': describeAnswer('listPolicies'),
  'POST /sys/policy/:policy_name': describeAnswer('writeRules', undefined, policy),
  'GET /sys/policy/:policy_name': describeAnswer('readRules', object({ name: aText, rules: aText })),
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

const rule = object(
  { capabilities: texts },
  {
    allowed_parameters: mapOf(manyOf(anyValue)),
    denied_parameters: mapOf(manyOf(anyValue)),
    required_parameters: texts,
    min_wrapping_ttl: withDescription(anInt, 'seconds'),
    max_wrapping_ttl: withDescription(anInt, 'seconds'),
  },
)

const health = withTitle(
  'Health',
  object(
    {
      initialized: aFlag,
      sealed: aFlag,
      standby: aFlag,
      performance_standby: aFlag,
      replication_performance_mode: enumOf('disabled'),
      replication_dr_mode: enumOf('disabled', 'primary', 'secondary', 'bootstrapping'),
      server_time_utc: withDescription(anInt, 'epoch seconds'),
      version: aText,
      product_version: aText,
      enterprise: aFlag,
      cluster_name: aText,
      cluster_id: aText,
      echo_duration_ms: anInt,
      clock_skew_ms: anInt,
      replication_primary_canary_age_ms: anInt,
    },
    { last_wal: anInt, license: object({ state: aText, expiry_time: aTime, terminated: aFlag }) },
  ),
)

const sealStatus = withTitle(
  'SealStatus',
  object(
    {
      type: aText,
      initialized: aFlag,
      sealed: aFlag,
      t: anInt,
      n: anInt,
      progress: anInt,
      nonce: aText,
      version: aText,
      product_version: aText,
      build_date: aText,
      migration: aFlag,
      recovery_seal: aFlag,
      recovery_seal_type: aText,
      storage_type: aText,
    },
    { cluster_name: aText, cluster_id: aText },
  ),
)

const leader = object({
  ha_enabled: aFlag,
  is_self: aFlag,
  leader_address: aText,
  leader_cluster_address: aText,
  performance_standby: aFlag,
  performance_standby_last_remote_wal: anInt,
})

const node = object({
  hostname: aText,
  api_address: aText,
  cluster_address: aText,
  active_node: aFlag,
  last_echo: nullShape,
  version: aText,
  echo_duration_ms: anInt,
  clock_skew_ms: anInt,
  replication_primary_canary_age_ms: anInt,
})

const olderTerm = object({
  id: aText,
  term: anInt,
  install_time: aTime,
  unused_since: timeOrEmpty,
  destroyed_time: timeOrEmpty,
  held: aFlag,
  waits_for: texts,
})
const reencryption = object({
  term: anInt,
  state: enumOf('waiting', 'running', 'done'),
  own_keys_done: aFlag,
  since: timeOrEmpty,
  done_time: timeOrEmpty,
  pass: anInt,
  seen: anInt,
  of: anInt,
  written: anInt,
  left: anInt,
  unreadable: object({ count: anInt, names: texts }),
})

/** Responses about the cluster. */
export const systemAnswers: Answers = {
  'GET /sys/health': describeAnswer('readHealth', health),
  'GET /sys/seal-status': describeAnswer('readSealStatus', sealStatus),
  'GET /sys/leader': describeAnswer('readLeader', leader),
  'GET /sys/init': describeAnswer('readInitialisation', object({ initialized: aFlag })),
  'POST /sys/init': describeAnswer(
    'initialise',
    object({
      keys: texts,
      keys_base64: texts,
      recovery_keys: texts,
      recovery_keys_base64: texts,
      root_token: aText,
    }),
    { requestExample: { recovery_shares: 5, recovery_threshold: 3 } },
  ),
  'GET /sys/ha-status': describeAnswer('listNodes', object({ nodes: manyOf(node) })),
  'LIST /sys/version-history': describeAnswer(
    'listVersions',
    object({ build_date: aText, previous_version: nullShape, timestamp_installed: aTime }),
  ),
  'GET /sys/internal/ui/resultant-acl': describeAnswer(
    'readResultantAcl',
    object({ root: aFlag, chroot_namespace: aText }, { exact_paths: mapOf(rule), glob_paths: mapOf(rule) }),
  ),
  'GET /sys/internal/specs/openapi': describeAnswer(
    'readOpenApi',
    withDescription({ type: 'object', additionalProperties: anyValue }, 'this document'),
  ),
  'GET /sys/audit': describeAnswer('listAuditDevices', object({})),
  'POST /sys/audit-hash/:method_path': describeAnswer('hashAsInAudit', object({ hash: aText }), {
    requestExample: { input: 'text' },
  }),
  'POST /sys/rotate': describeAnswer('rotate', undefined, { requestExample: { retire: false } }),
  'GET /sys/key-status': describeAnswer(
    'readKeyStatus',
    object({ term: anInt, install_time: aTime }, { reencryption, older_terms: manyOf(olderTerm) }),
  ),
}

const license = object({
  license_id: aText,
  features: texts,
  start_time: aTime,
  expiration_time: aTime,
  terminated: aFlag,
})

/** The licence of the deployment. */
export const licenseShape = withTitle(
  'LicenseStatus',
  object({ autoloading_used: aFlag, autoloaded: orNull(license), persisted_autoload: orNull(license) }),
)
