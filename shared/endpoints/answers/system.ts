import { mountTokenTypes } from '../../model/mount.ts'
import {
  type Answers,
  anything,
  bool,
  int,
  listOf,
  mapOf,
  named,
  none,
  object,
  orNull,
  saying,
  text,
  texts,
  time,
  timeOrEmpty,
  told,
  words,
} from './shape.ts'

const kept = {
  listing_visibility: text,
  audit_non_hmac_request_keys: texts,
  audit_non_hmac_response_keys: texts,
  passthrough_request_headers: texts,
  allowed_response_headers: texts,
}
const leases = {
  default_lease_ttl: saying(int, 'seconds'),
  max_lease_ttl: saying(int, 'seconds'),
  force_no_cache: bool,
}

const tuning = named(
  'MountTuning',
  object({ ...leases, token_type: words(...mountTokenTypes), description: text }, kept),
)

const mounted = {
  accessor: text,
  type: text,
  description: text,
  uuid: text,
  local: bool,
  seal_wrap: bool,
  external_entropy_access: bool,
  options: object({}),
  plugin_version: text,
  running_plugin_version: text,
  running_sha256: text,
}
const mount = named(
  'Mount',
  object({ ...mounted, config: object({ ...leases, token_type: words(...mountTokenTypes) }, kept) }),
)
const engine = named('Engine', object({ ...mounted, config: object(leases) }))
const visible = object({ type: text, description: text, options: object({}) })

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
  'GET /sys/policies/acl/:policy_name': told('readPolicy', object({ name: text, policy: text })),
  'DELETE /sys/policies/acl/:policy_name': told('deletePolicy'),
  'LIST /sys/policies/acl': told('listPolicies'),
  'POST /sys/policy/:policy_name': told('writeRules', undefined, policy),
  'GET /sys/policy/:policy_name': told('readRules', object({ name: text, rules: text })),
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
    allowed_parameters: mapOf(listOf(anything)),
    denied_parameters: mapOf(listOf(anything)),
    required_parameters: texts,
    min_wrapping_ttl: saying(int, 'seconds'),
    max_wrapping_ttl: saying(int, 'seconds'),
  },
)

const health = named(
  'Health',
  object(
    {
      initialized: bool,
      sealed: bool,
      standby: bool,
      performance_standby: bool,
      replication_performance_mode: words('disabled'),
      replication_dr_mode: words('disabled', 'primary', 'secondary', 'bootstrapping'),
      server_time_utc: saying(int, 'epoch seconds'),
      version: text,
      product_version: text,
      enterprise: bool,
      cluster_name: text,
      cluster_id: text,
      echo_duration_ms: int,
      clock_skew_ms: int,
      replication_primary_canary_age_ms: int,
    },
    { last_wal: int, license: object({ state: text, expiry_time: time, terminated: bool }) },
  ),
)

const sealStatus = named(
  'SealStatus',
  object(
    {
      type: text,
      initialized: bool,
      sealed: bool,
      t: int,
      n: int,
      progress: int,
      nonce: text,
      version: text,
      product_version: text,
      build_date: text,
      migration: bool,
      recovery_seal: bool,
      recovery_seal_type: text,
      storage_type: text,
    },
    { cluster_name: text, cluster_id: text },
  ),
)

const leader = object({
  ha_enabled: bool,
  is_self: bool,
  leader_address: text,
  leader_cluster_address: text,
  performance_standby: bool,
  performance_standby_last_remote_wal: int,
})

const node = object({
  hostname: text,
  api_address: text,
  cluster_address: text,
  active_node: bool,
  last_echo: none,
  version: text,
  echo_duration_ms: int,
  clock_skew_ms: int,
  replication_primary_canary_age_ms: int,
})

const olderTerm = object({
  id: text,
  term: int,
  install_time: time,
  unused_since: timeOrEmpty,
  destroyed_time: timeOrEmpty,
  held: bool,
  waits_for: texts,
})
const reencryption = object({
  term: int,
  state: words('waiting', 'running', 'done'),
  own_keys_done: bool,
  since: timeOrEmpty,
  done_time: timeOrEmpty,
  pass: int,
  seen: int,
  of: int,
  written: int,
  left: int,
  unreadable: object({ count: int, names: texts }),
})

/** The cluster itself. */
export const systemAnswers: Answers = {
  'GET /sys/health': told('readHealth', health),
  'GET /sys/seal-status': told('readSealStatus', sealStatus),
  'GET /sys/leader': told('readLeader', leader),
  'GET /sys/init': told('readInitialisation', object({ initialized: bool })),
  'POST /sys/init': told(
    'initialise',
    object({
      keys: texts,
      keys_base64: texts,
      recovery_keys: texts,
      recovery_keys_base64: texts,
      root_token: text,
    }),
    { sent: { recovery_shares: 5, recovery_threshold: 3 } },
  ),
  'GET /sys/ha-status': told('listNodes', object({ nodes: listOf(node) })),
  'LIST /sys/version-history': told(
    'listVersions',
    object({ build_date: text, previous_version: none, timestamp_installed: time }),
  ),
  'GET /sys/internal/ui/resultant-acl': told(
    'readResultantAcl',
    object({ root: bool, chroot_namespace: text }, { exact_paths: mapOf(rule), glob_paths: mapOf(rule) }),
  ),
  'GET /sys/internal/specs/openapi': told(
    'readOpenApi',
    saying({ type: 'object', additionalProperties: anything }, 'this document'),
  ),
  'GET /sys/audit': told('listAuditDevices', object({})),
  'POST /sys/audit-hash/:method_path': told('hashAsInAudit', object({ hash: text }), {
    sent: { input: 'text' },
  }),
  'POST /sys/rotate': told('rotate', undefined, { sent: { retire: false } }),
  'GET /sys/key-status': told(
    'readKeyStatus',
    object({ term: int, install_time: time }, { reencryption, older_terms: listOf(olderTerm) }),
  ),
}

const license = object({
  license_id: text,
  features: texts,
  start_time: time,
  expiration_time: time,
  terminated: bool,
})

/** The licence of the deployment. */
export const licenseStatus = named(
  'LicenseStatus',
  object({ autoloading_used: bool, autoloaded: orNull(license), persisted_autoload: orNull(license) }),
)
