import { type Answer, after, answer, type Call, data, type Outcome, subjectOf } from '../api/call.ts'
import { ApiError, invalid } from '../api/errors.ts'
import { anything, bool, duration, FieldFault, readFields, type Supplied, text } from '../api/fields.ts'
import { replace } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { isObject } from '../values/json.ts'
import { NAME } from '../values/names.ts'
import {
  defaultTtlOf,
  type Mount,
  type MountTable,
  maxTtlOf,
  methodTypes,
  mountAt,
  mountTokenTypes,
} from './mount.ts'
import { newMount } from './new-mount.ts'

const tuning = {
  default_lease_ttl: duration('Lifetime of tokens when nothing else is said; 0: 768h'),
  max_lease_ttl: duration('Greatest lifetime of tokens; 0: 768h'),
  token_type: text(`One of ${mountTokenTypes.join(', ')}`),
  description: text('For people'),
  listing_visibility: text('`unauth` shows the mount to everybody; `hidden` or empty does not'),
}

export const tuneFields = tuning

export const enableFields = {
  type: text(`One of ${methodTypes.join(', ')}`, { required: true }),
  description: text('For people'),
  config: anything('default_lease_ttl, max_lease_ttl, token_type, listing_visibility'),
  local: bool('Accepted and ignored: all mounts replicate'),
  seal_wrap: bool('Accepted and ignored: secrets are always sealed'),
}

const tableOf = (call: Call): Item<'mounts'> => {
  const item = subjectOf(call, 'mounts')
  if (!item) throw new ApiError('not_initialised')
  return item
}

/** The mount's path, of one segment: nested ones are refused with a text that says so. */
function pathOf(call: Call): string {
  const path = call.params['method_path'] ?? ''
  if (path.includes('/')) throw invalid('the path of a mount must be one segment, without "/"')
  if (!NAME.test(path)) throw invalid('the path of a mount may hold letters, digits, "_", "-" and "."')
  return path
}

const write = (table: Item<'mounts'>, next: MountTable) => replace(key('mounts'), table, next)

/** POST sys/auth/:path: enables the auth method under another name. */
export function enableMount(call: Call<typeof enableFields>): Outcome {
  const table = tableOf(call)
  const path = pathOf(call)
  if (mountAt(table.data, path)) throw invalid(`path is already in use at ${path}/`)
  const type = methodTypes.find(one => one === call.given.type)
  if (!type) throw invalid(`type must be one of ${methodTypes.join(', ')}`)
  const blank = newMount({ path, type, description: call.given.description ?? '' }, call.ports.entropy.uuid())
  const mount = tuned(blank, tuningIn(call.given.config))
  return after([write(table, { ...table.data, mounts: [...table.data.mounts, mount] })])
}

/** The settings inside a mount's first request, read as those of its tuning are. */
function tuningIn(config: unknown): Supplied<typeof tuneFields> {
  if (config === undefined || config === null) return {}
  if (!isObject(config)) throw invalid('config must be an object')
  try {
    return readFields(tuneFields, config).given
  } catch (error) {
    throw error instanceof FieldFault ? invalid(error.message) : error
  }
}

function tuned(mount: Mount, given: Supplied<typeof tuneFields>): Mount {
  const tokenType =
    given.token_type === undefined
      ? mount.tokenType
      : mountTokenTypes.find(type => type === (given.token_type || 'default-service'))
  if (!tokenType) throw invalid(`token_type must be one of ${mountTokenTypes.join(', ')}`)
  if (
    given.listing_visibility !== undefined &&
    !['', 'hidden', 'unauth'].includes(given.listing_visibility)
  ) {
    throw invalid('listing_visibility must be hidden or unauth')
  }
  const next: Mount = {
    ...mount,
    tokenType,
    description: given.description ?? mount.description,
    defaultLeaseTtl: given.default_lease_ttl ?? mount.defaultLeaseTtl,
    maxLeaseTtl: given.max_lease_ttl ?? mount.maxLeaseTtl,
    options:
      given.listing_visibility === undefined
        ? mount.options
        : { ...mount.options, listing_visibility: given.listing_visibility },
  }
  if (next.defaultLeaseTtl > maxTtlOf(next))
    throw invalid('default_lease_ttl must not be greater than max_lease_ttl')
  return next
}

const found = (table: MountTable, path: string): Mount => {
  const mount = mountAt(table, path)
  if (!mount) throw invalid(`there is no auth method at ${path}/`)
  return mount
}

/**
 * DELETE sys/auth/:path: from the commit on, logins and tokens of the mount are refused; its items are removed
 * in the background. A mount that is not there is as good as disabled.
 */
export function disableMount(call: Call): Outcome {
  const table = tableOf(call)
  const path = pathOf(call)
  const mount = mountAt(table.data, path)
  if (!mount) return answer({ kind: 'nothing' })
  if (mount.type === 'token') throw invalid('token credential backend cannot be disabled')
  const { mounts, removing } = table.data
  const next = { mounts: mounts.filter(one => one !== mount), removing: [...removing, mount] }
  return {
    ...after([write(table, next)]),
    // should this fail, the hourly round starts it
    afterwards: () => call.ports.background.start({ job: 'remove-mount', mount: mount.accessor }),
  }
}

/** POST sys/auth/:path/tune. */
export function tuneMount(call: Call<typeof tuneFields>): Outcome {
  const table = tableOf(call)
  const mount = found(table.data, pathOf(call))
  const next = tuned(mount, call.given)
  return after([
    write(table, { ...table.data, mounts: table.data.mounts.map(one => (one === mount ? next : one)) }),
  ])
}

/** GET sys/auth/:path/tune. */
export const readTuning = (call: Call): Outcome =>
  answer(data(tuningAnswer(found(tableOf(call).data, pathOf(call)))))

/** GET sys/auth: all mounts by path. */
export const listMounts = (call: Call): Outcome => answer(mountsAnswer(tableOf(call).data.mounts))

/** GET sys/auth/:path. */
export const readMount = (call: Call): Outcome =>
  answer(data(mountAnswer(found(tableOf(call).data, pathOf(call)))))

const mountsAnswer = (mounts: readonly Mount[]): Answer =>
  data(
    Object.fromEntries(
      mounts
        .map(mount => [`${mount.path}/`, mountAnswer(mount)] as const)
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
    ...visibilityOf(mount),
  },
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  options: null,
})

const tuningAnswer = (mount: Mount): Record<string, unknown> => ({
  default_lease_ttl: defaultTtlOf(mount),
  max_lease_ttl: maxTtlOf(mount),
  token_type: mount.tokenType,
  description: mount.description,
  force_no_cache: false,
  ...visibilityOf(mount),
})

const visibilityOf = ({ options }: Mount) =>
  options['listing_visibility'] ? { listing_visibility: options['listing_visibility'] } : {}

/** GET sys/internal/ui/mounts: what is shown to everybody. @see auth-behaviour CVE-2020-25594 */
export function visibleMounts(call: Call): Outcome {
  const shown = call.mounts.mounts.filter(mount => mount.options['listing_visibility'] === 'unauth')
  const auth = Object.fromEntries(
    shown.map(({ path, type, description }) => [`${path}/`, { type, description, options: null }]),
  )
  return answer(data({ auth, secret: {} }))
}
