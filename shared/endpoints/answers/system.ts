import { mountTokenTypes } from '../../model/mount.ts'
import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  manyOf,
  mapOf,
  none,
  object,
  orNull,
  saying,
  texts,
  timeOrEmpty,
  titled,
  words,
} from '../../values/shape.ts'
import { type Answers, told } from './told.ts'

const kept = {
  listing_visibility: aText,
  audit_non_hmac_request_keys: texts,
  audit_non_hmac_response_keys: texts,
  passthrough_request_headers: texts,
  allowed_response_headers: texts,
}
const leases = {
  default_lease_ttl: saying(anInt, 'seconds'),
  max_lease_ttl: saying(anInt, 'seconds'),
  force_no_cache: aFlag,
}

const tuning = titled(
  'MountTuning',
  object({ ...leases, token_type: words(...mountTokenTypes), description: aText }, kept),
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
const mount = titled(
  'Mount',
  object({ ...mounted, config: object({ ...leases, token_type: words(...mountTokenTypes) }, kept) }),
)
const engine = titled('Engine', object({ ...mounted, config: object(leases) }))
const visible = object({ type: aText, description: aText, options: object({}) })

const tune = { sent: { default_lease_ttl: '1h', max_lease_ttl: '24h' } }

/** Paths under which the auth method is enabled. */
export const mountAnswers: Answers = {
  'GET /sys/auth/:method_path/tune': told('readTuning', tuning),
  'POST /sys/auth/:method_path/tune': told('tuneMount', undefined, tune),
  'GET /sys/mounts/auth/:method_path/tune': told('readTuningAmongMounts', tuning),
  'POST /sys/mounts/auth/:method_path/tune': told('tuneMountAmongMounts', undefined, tune),
  'GET /sys/auth': told('listMounts', mapOf(mount)),
  'GET /sys/mounts': told('listEngines', object({ 'identity/': engine, 'sys/': engine })),
  'GET /sys/auth/:method_path': told('readMount', mount),
  'POST /sys/auth/:method_path': told('enableMount', undefined, {
    sent: { type: 'aws', description: 'second' },
  }),
  'DELETE /sys/auth/:method_path': told('disableMount'),
  'GET /sys/internal/ui/mounts': told(
    'listVisibleMounts',
    object({ auth: mapOf(visible), secret: object({}) }),
  ),
}

const policy = { sent: { policy: 'path "secret/*" { capabilities = ["read"] }' } }
const names = object({ keys: texts, policies: texts })
const capabilities = saying(mapOf(texts), 'by path; `capabilities` too where one path was asked for')

/** Policies, and what they come to. */
export const policyAnswers: Answers = {
  'POST /sys/policies/acl/:policy_name': told('writePolicy', undefined, policy),
  'GET /sys/policies/acl/:policy_name': told('readPolicy', object({ name: aText, policy: aText })),
  'DELETE /sys/policies/acl/:policy_name': told('deletePolicy'),
  'LIST /sys/policies/acl': told('listPolicies'),
  'POST /sys/policy/:policy_name': told('writeRules', undefined, policy),
  'GET /sys/policy/:policy_name': told('readRules', object({ name: aText, rules: aText })),
  'DELETE /sys/policy/:policy_name': told('deleteRules'),
  'GET /sys/policy': told('listRules', names),
  'LIST /sys/policy': told('listRulesByFlag', names),
  'POST /sys/capabilities-self': told('readOwnCapabilities', capabilities, {
    sent: { paths: ['sys/health'] },
  }),
  'POST /sys/capabilities': told('readCapabilitiesOfToken', capabilities, {
    sent: { token: 'hvs.CAESIJ', paths: ['sys/health'] },
  }),
  'POST /sys/capabilities-accessor': told('readCapabilitiesOfAccessor', capabilities, {
    sent: { accessor: '8609694a7cdc', paths: ['sys/health'] },
  }),
}

const rule = object(
  { capabilities: texts },
  {
    allowed_parameters: mapOf(manyOf(anyValue)),
    denied_parameters: mapOf(manyOf(anyValue)),
    required_parameters: texts,
    min_wrapping_ttl: saying(anInt, 'seconds'),
    max_wrapping_ttl: saying(anInt, 'seconds'),
  },
)

const health = titled(
  'Health',
  object(
    {
      initialized: aFlag,
      sealed: aFlag,
      standby: aFlag,
      performance_standby: aFlag,
      replication_performance_mode: words('disabled'),
      replication_dr_mode: words('disabled', 'primary', 'secondary', 'bootstrapping'),
      server_time_utc: saying(anInt, 'epoch seconds'),
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

const sealStatus = titled(
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
  last_echo: none,
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
  state: words('waiting', 'running', 'done'),
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

/** The cluster itself. */
export const systemAnswers: Answers = {
  'GET /sys/health': told('readHealth', health),
  'GET /sys/seal-status': told('readSealStatus', sealStatus),
  'GET /sys/leader': told('readLeader', leader),
  'GET /sys/init': told('readInitialisation', object({ initialized: aFlag })),
  'POST /sys/init': told(
    'initialise',
    object({
      keys: texts,
      keys_base64: texts,
      recovery_keys: texts,
      recovery_keys_base64: texts,
      root_token: aText,
    }),
    { sent: { recovery_shares: 5, recovery_threshold: 3 } },
  ),
  'GET /sys/ha-status': told('listNodes', object({ nodes: manyOf(node) })),
  'LIST /sys/version-history': told(
    'listVersions',
    object({ build_date: aText, previous_version: none, timestamp_installed: aTime }),
  ),
  'GET /sys/internal/ui/resultant-acl': told(
    'readResultantAcl',
    object({ root: aFlag, chroot_namespace: aText }, { exact_paths: mapOf(rule), glob_paths: mapOf(rule) }),
  ),
  'GET /sys/internal/specs/openapi': told(
    'readOpenApi',
    saying({ type: 'object', additionalProperties: anyValue }, 'this document'),
  ),
  'GET /sys/audit': told('listAuditDevices', object({})),
  'POST /sys/audit-hash/:method_path': told('hashAsInAudit', object({ hash: aText }), {
    sent: { input: 'text' },
  }),
  'POST /sys/rotate': told('rotate', undefined, { sent: { retire: false } }),
  'GET /sys/key-status': told(
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
export const licenseShape = titled(
  'LicenseStatus',
  object({ autoloading_used: aFlag, autoloaded: orNull(license), persisted_autoload: orNull(license) }),
)
