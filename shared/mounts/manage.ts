import {
  type Answer,
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  noContentAnswer,
} from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import {
  anyField,
  boolField,
  durationField,
  listField,
  ParameterError,
  type ParameterField,
  type ParsedParameters,
  readParameterFields,
  type SuppliedParameters,
  textField,
  unsupportedField,
} from '../api/fields.ts'
import { subjectOf } from '../api/subject.ts'
import { unknownFieldsWarning } from '../api/unknown-fields.ts'
import {
  authMethodTypes,
  defaultTtlOfMount,
  findMountByPath,
  type Mount,
  type MountTable,
  maxTtlOfMount,
  mountTokenTypes,
} from '../model/mount.ts'
import type { Item } from '../storage/kinds.ts'
import { isObject } from '../values/json.ts'
import { NAME_PATTERN } from '../values/names.ts'
import { sha256 } from '../values/secret.ts'
import { createMount, storeMounts } from './store.ts'

/** A duration field for lease TTLs. Command lines always send it; an empty text means no change. */
function lease(doc: string): ParameterField<number> {
  const field = durationField(doc)
  return { ...field, read: raw => (raw === '' ? undefined : raw === 'system' ? 0 : field.read(raw)) }
}

/** Settings that are stored as sent. */
const kept = {
  listing_visibility: textField('`unauth` shows the mount to everyone; `hidden` or empty hides the mount'),
  audit_non_hmac_request_keys: listField('Request parameters that the audit log shows in plain text'),
  audit_non_hmac_response_keys: listField('Response fields that the audit log shows in plain text'),
  passthrough_request_headers: listField('Stored and returned, without effect: the method reads no headers'),
  allowed_response_headers: listField('Stored and returned, without effect: the method sets no headers'),
}

const WITHOUT_EFFECT = ['passthrough_request_headers', 'allowed_response_headers'] as const

const plugin = 'Not supported: there are no plugins'

export const tuneMountFields = {
  default_lease_ttl: lease('Default lifetime of tokens; 0 or `system`: 768h; empty: no change'),
  max_lease_ttl: lease('Maximum lifetime of tokens; 0 or `system`: 768h; empty: no change'),
  token_type: textField(`One of ${mountTokenTypes.join(', ')}`, {
    counts: type => type || 'default-service',
  }),
  description: textField('Description for administrators'),
  ...kept,
  options: unsupportedField('Not supported: the method has no options'),
  force_no_cache: unsupportedField('Not supported: nothing is cached'),
  plugin_name: unsupportedField(plugin),
  plugin_version: unsupportedField(plugin),
  override_pinned_version: unsupportedField(plugin),
  identity_token_key: unsupportedField('Not supported: the service signs no identity tokens'),
  user_lockout_config: unsupportedField('Not supported: the method knows no passwords'),
  allowed_managed_keys: unsupportedField('Not supported: there are no managed keys'),
  delegated_auth_accessors: unsupportedField('Not supported: the mount delegates no authentication'),
  trim_request_trailing_slashes: unsupportedField('Not supported'),
}

export const enableMountFields = {
  type: textField(`One of ${authMethodTypes.join(', ')}`, { required: true }),
  description: textField('Description for administrators'),
  config: anyField('Tuning settings of the mount'),
  local: boolField('Accepted and ignored: all mounts replicate'),
  seal_wrap: boolField('Accepted and ignored: secrets are always encrypted'),
  external_entropy_access: boolField('Accepted and ignored: the runtime generates all random values'),
  options: unsupportedField('Not supported: the method has no options'),
}

const tableOf = (call: Call): Item<'mounts'> => {
  const item = subjectOf(call, 'mounts')
  if (!item) throw new ApiError('not_initialised')
  return item
}

/** Returns the mount path of the request. @throws ApiError unless it is one segment */
function pathOf(call: Call): string {
  const path = call.pathParameters['method_path'] ?? ''
  if (path === '')
    throw invalidRequestError(
      'the path names no mount; use GET sys/auth, without a trailing slash, to list all mounts',
    )
  if (path.includes('/')) throw invalidRequestError('the path of a mount must be one segment, without "/"')
  if (!NAME_PATTERN.test(path))
    throw invalidRequestError('the path of a mount may hold letters, digits, "_", "-" and "."')
  return path
}

/** Handles POST sys/auth/:path: enables the auth method at another path. */
export function enableMount(call: Call<typeof enableMountFields>): CallOutcome {
  const table = tableOf(call)
  const path = pathOf(call)
  if (findMountByPath(table.data, path)) throw invalidRequestError(`path is already in use at ${path}/`)
  const type = authMethodTypes.find(one => one === call.parameters.type)
  if (!type) throw invalidRequestError(`type must be one of ${authMethodTypes.join(', ')}`)
  const blank = createMount(
    { path, type, description: call.parameters.description ?? '' },
    call.ports.entropy.uuid(),
  )
  const { parameters, unknown } = tuningIn(call.parameters.config)
  const next = { ...table.data, mounts: [...table.data.mounts, tuned(blank, parameters)] }
  return answerAfterChanges(
    storeMounts(table, next),
    noContentAnswer([
      ...effectWarnings(parameters),
      ...(unknown.length > 0 ? [unknownFieldsWarning(unknown, tuneMountFields, 'config.')] : []),
    ]),
  )
}

/** Returns a warning for each setting that is stored without effect. */
const effectWarnings = (given: SuppliedParameters<typeof tuneMountFields>): string[] =>
  WITHOUT_EFFECT.filter(name => given[name]?.length).map(name => `${name} is stored, but has no effect`)

/** Reads the tuning settings inside an enable request, like those of a tune request. */
function tuningIn(config: unknown): ParsedParameters<typeof tuneMountFields> {
  if (config === undefined || config === null) return { parameters: {}, unknown: [] }
  if (!isObject(config)) throw invalidRequestError('config must be an object')
  try {
    return readParameterFields(tuneMountFields, config)
  } catch (error) {
    throw error instanceof ParameterError ? invalidRequestError(error.message) : error
  }
}

/** The fields that contain tokens in requests and responses of the token store. */
const TOKENS = ['token', 'id']

function tuned(mount: Mount, given: SuppliedParameters<typeof tuneMountFields>): Mount {
  const shown = [...(given.audit_non_hmac_request_keys ?? []), ...(given.audit_non_hmac_response_keys ?? [])]
  if (mount.type === 'token' && shown.some(name => TOKENS.includes(name)))
    throw invalidRequestError(
      'the audit log never shows tokens: audit_non_hmac keys must not name token or id',
    )
  const tokenType =
    given.token_type === undefined
      ? mount.tokenType
      : mountTokenTypes.find(type => type === (given.token_type || 'default-service'))
  if (!tokenType) throw invalidRequestError(`token_type must be one of ${mountTokenTypes.join(', ')}`)
  if (
    given.listing_visibility !== undefined &&
    !['', 'hidden', 'unauth'].includes(given.listing_visibility)
  ) {
    throw invalidRequestError('listing_visibility must be hidden or unauth')
  }
  const next: Mount = {
    ...mount,
    tokenType,
    description: given.description ?? mount.description,
    defaultLeaseTtl: given.default_lease_ttl ?? mount.defaultLeaseTtl,
    maxLeaseTtl: given.max_lease_ttl ?? mount.maxLeaseTtl,
    options: {
      ...mount.options,
      ...Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(kept, name))),
    },
  }
  if (next.defaultLeaseTtl > maxTtlOfMount(next))
    throw invalidRequestError('default_lease_ttl must not be greater than max_lease_ttl')
  return next
}

const found = (table: MountTable, path: string): Mount => {
  const mount = findMountByPath(table, path)
  if (!mount) throw invalidRequestError(`there is no auth method at ${path}/`)
  return mount
}

/**
 * Handles DELETE sys/auth/:path. After the commit, logins and tokens of the mount are rejected; a job removes its items. Disabling a
 * missing mount succeeds.
 */
export function disableMount(call: Call): CallOutcome {
  const table = tableOf(call)
  const path = pathOf(call)
  const mount = findMountByPath(table.data, path)
  if (!mount) return answer({ kind: 'nothing' })
  if (mount.type === 'token') throw invalidRequestError('token credential backend cannot be disabled')
  const { mounts, removing } = table.data
  const next = {
    mounts: mounts.filter(one => one !== mount),
    removing: [...removing, { ...mount, disabledAt: call.now }],
  }
  return {
    ...answerAfterChanges(storeMounts(table, next)),
    // if starting the job fails, the hourly run starts it
    afterwards: () => call.ports.background.start({ job: 'remove-mount', mount: mount.accessor }),
  }
}

/** Handles POST sys/auth/:path/tune. */
export function tuneMount(call: Call<typeof tuneMountFields>): CallOutcome {
  const table = tableOf(call)
  const mount = found(table.data, pathOf(call))
  const next = tuned(mount, call.parameters)
  const mounts = table.data.mounts.map(one => (one === mount ? next : one))
  return answerAfterChanges(
    storeMounts(table, { ...table.data, mounts }),
    noContentAnswer(effectWarnings(call.parameters)),
  )
}

/** Handles GET sys/auth/:path/tune. */
export const readMountTuning = (call: Call): CallOutcome =>
  answer(dataAnswer(tuningAnswer(found(tableOf(call).data, pathOf(call)))))

/** Handles GET sys/auth: returns all mounts by path. */
export const listMounts = (call: Call): CallOutcome =>
  answer(mountsAnswer(tableOf(call).data.mounts, pluginOf(call)))

/**
 * Handles GET sys/mounts: returns the built-in engines, which clients expect next to the auth methods. The UUIDs of
 * the built-in engines are derived from the token store's, which is as old as the cluster.
 */
export const listSecretEngines = (call: Call): CallOutcome =>
  answer(enginesAnswer(findMountByPath(tableOf(call).data, 'token')?.uuid ?? '', pluginOf(call)))

const engines = {
  identity: 'identity store',
  system: 'system endpoints used for control, policy and debugging',
}

/** Returns the plugin fields of a mount: a built-in plugin of the announced version. */
const pluginOf = ({ ports: { deployment } }: Call) => ({
  plugin_version: '',
  running_plugin_version: `v${deployment.apiVersion}+builtin`,
  running_sha256: '',
})
type Plugin = ReturnType<typeof pluginOf>

const enginesAnswer = (seed: string, plugin: Plugin): Answer =>
  dataAnswer({
    'identity/': { ...engineAnswer('identity', seed), ...plugin },
    'sys/': { ...engineAnswer('system', seed), ...plugin },
  })

function engineAnswer(type: keyof typeof engines, seed: string): Record<string, unknown> {
  const uuid = derivedUuid(`${seed}/${type}`)
  return {
    accessor: `${type}_${uuid.slice(0, 8)}`,
    type,
    description: engines[type],
    uuid,
    config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
    local: false,
    seal_wrap: false,
    external_entropy_access: false,
    options: {},
  }
}

/** Derives a UUID (version 8) from a text. */
const derivedUuid = (text: string): string =>
  sha256(text)
    .toString('hex')
    .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')

/** Handles GET sys/auth/:path. */
export const readMount = (call: Call): CallOutcome =>
  answer(dataAnswer({ ...mountAnswer(found(tableOf(call).data, pathOf(call))), ...pluginOf(call) }))

const mountsAnswer = (mounts: readonly Mount[], plugin: Plugin): Answer =>
  dataAnswer(
    Object.fromEntries(
      mounts
        .map(mount => [`${mount.path}/`, { ...mountAnswer(mount), ...plugin }] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    ),
  )

const mountAnswer = (mount: Mount): Record<string, unknown> => ({
  accessor: mount.accessor,
  type: mount.type,
  description: mount.description,
  uuid: mount.uuid,
  config: {
    default_lease_ttl: mount.defaultLeaseTtl,
    max_lease_ttl: mount.maxLeaseTtl,
    force_no_cache: false,
    token_type: mount.tokenType,
    ...keptOf(mount),
  },
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  options: {},
})

const tuningAnswer = (mount: Mount): Record<string, unknown> => ({
  default_lease_ttl: defaultTtlOfMount(mount),
  max_lease_ttl: maxTtlOfMount(mount),
  token_type: mount.tokenType,
  description: mount.description,
  force_no_cache: false,
  ...keptOf(mount),
})

/** Returns the stored settings without empty ones, as clients expect. */
const keptOf = ({ options }: Mount): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(options).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value)),
  )

/** Handles GET sys/internal/ui/mounts: returns the mounts that everyone may see. (CVE-2020-25594) */
export function listVisibleMounts(call: Call): CallOutcome {
  const shown = call.mounts.mounts.filter(mount => mount.options['listing_visibility'] === 'unauth')
  const auth = Object.fromEntries(
    shown.map(({ path, type, description }) => [`${path}/`, { type, description, options: {} }]),
  )
  return answer(dataAnswer({ auth, secret: {} }))
}
