import type { Capability } from '../model/policy.ts'
import type { Item, Key } from '../storage/kinds.ts'
import type { LoginAttempt } from '../watching/logins.ts'
import type { AlwaysCall, Call, Early, MountCall, Operation, Outcome, Phases } from './call.ts'
import { ApiError } from './errors.ts'
import { type Fields, text } from './fields.ts'
import type { LicenceRule } from './licence.ts'
import { listFields } from './listing.ts'

/** What an endpoint reaches; grants and environment of its Lambda follow from it. */
export const allUses = [
  /** reads the tables and opens the keyring: every endpoint does */
  'read',
  /** takes a use of the caller's token, whose number may be limited: every endpoint does */
  'spend',
  /** stores tokens, and answers that wait for their holder: every endpoint whose answer may be wrapped does */
  'mint',
  /** writes to the tables, but for what has a guard of its own */
  'write',
  /** reads whole tables, in segments */
  'scan',
  /** finds entries that tidy may remove, through the index `expiry`, and removes sums of trees that are not used any more */
  'sweep',
  /** calls EC2, in satellite accounts by AssumeRole */
  'instances',
  /** calls IAM, in satellite accounts by AssumeRole */
  'principals',
  /** sends a caller's own request to STS */
  'caller-identity',
  /** manages the access keys of the configured IAM user */
  'access-keys',
  /** starts work that outlives the request */
  'background',
  /** starts workflows, and answers their steps that wait */
  'workflow',
  /** makes keys, of a new cluster or for a further term, and stores record and keyring */
  'key-factory',
  /** stores by what recovery shares are judged */
  'recovery',
  /** changes the cluster record, and makes no keys */
  'role',
  /** keeps the one attempt of a ceremony: reaches the table `ceremony` */
  'ceremony',
  /** keeps the one attempt to make another recovery key, in a partition of its own of that table */
  'rekey',
  /** checks the DR operation token that was generated, and voids it: every endpoint that asks for one does */
  'operation-token',
  /** tells the event bus of changes of role */
  'events',
  /** has this cluster fetch what its primary has */
  'pull',
  /** asks other clusters of the set, by the link */
  'peers',
  /** keeps what a cluster knows of the others of its set: secondaries, revocations, keys, the last contact */
  'link',
  /** stores on a secondary what its primary has, and nothing else does */
  'apply',
  /** reaches the journal and its tree, and items as they stand in the tables: what replicates, and nobody else */
  'journal',
  /** reads the certificates of authorities that the deployment ships */
  'authorities',
  /** writes to the log group of the audit log */
  'audit-log',
  /** is told the deployment's licence: every endpoint that needs one does */
  'licence',
] as const

export type Use = (typeof allUses)[number]

/**
 * Which capability a call needs. `by-existence`: `create` for an object that is not there yet, else `update`;
 * `create-or-update`: either will do.
 */
export type NeededCapability = Capability | 'by-existence' | 'create-or-update'

/** Who may call. */
export type AccessRule =
  /**
   * `strictly`: what a caller needs who comes by the API where the setting `strictCeremony` is on. `knows`: what makes a
   * caller who has it more than a stranger to the handler, which refuses nobody else for that alone
   */
  | { by: 'anyone'; strictly?: Capability; knows?: Capability }
  /** whoever has a valid token */
  | { by: 'token' }
  /** `orOperationToken`: on a DR secondary a DR operation token in the body will do, and counts before the header */
  | { by: 'policy'; capability: NeededCapability; sudo?: true; orOperationToken?: true }
  /**
   * On a DR secondary: whoever sends a DR operation token, in the body. On a cluster of another role only the token in
   * the header is checked; then the row's `serves`, or the handler, refuses the request.
   */
  | { by: 'operation-token' }

/** Names in a path by which a subject is found. */
export interface SubjectPlace {
  /** accessor of the mount that the path names; empty outside mounts */
  mount: string
  pathParameters: Readonly<Record<string, string>>
}

/** What a row needs before anything is read. */
export interface Prepared {
  /** to be read with the first read */
  keys: readonly Key[]
  /** for the handler */
  prepared: unknown
  /** the first read, of these keys in their order, where it brings along what is no item of a kind */
  read?: (keys: readonly Key[]) => Promise<readonly (Item | undefined)[]>
}

/** One line of the interface: everything about an endpoint, read by routing, grants, authorisation and OpenAPI. */
export interface Endpoint {
  method: 'POST' | 'GET' | 'LIST' | 'DELETE'
  /** below `/v1`, with `:name` for parameters */
  path: string
  /** deprecated paths that mean the same. @see docs/spec/transport.md#deprecated-paths */
  formerly?: string
  /** another current spelling of the path */
  also?: string
  summary: string
  fields: Fields
  access: AccessRule
  /**
   * Which role of a cluster it is for. `active`: serves clients, so no DR secondary. `dr`: any. `primary`, `secondary`:
   * that one. `demotion`: a primary, and a secondary that was one and has followed nobody since. `always`: also before
   * initialisation, and while the role changes.
   */
  serves: 'active' | 'always' | 'primary' | 'secondary' | 'dr' | 'demotion'
  /** the rule that the deployment's licence has to satisfy; absent: none */
  licence?: LicenceRule
  /** answers whatever namespace the request names */
  anyNamespace?: true
  uses: readonly Use[]
  /** what a success looks like; `refused`: there is none, and the row only says so in words */
  answers: 'nothing' | 'data' | 'keys' | 'auth' | 'accepted' | 'plain' | 'refused'
  /** fields of the answer's data that are secret: the audit log keeps their HMAC */
  secretAnswers?: readonly string[]
  /** older clients read the answer's data outside `data` too */
  mirrored?: true
  /** takes parameters of any name */
  freeForm?: true
  /** answers HEAD as well as GET */
  head?: true
  /** answers without the request being written to the audit log: probes by machines */
  unaudited?: true
  /**
   * answers where the keyring does not open: its entries of the audit log have no HMACs then, and say so. For what tells
   * an operator that
   */
  withoutKeyring?: true
  /** reachable only by direct invocation of its Lambda (and on the embedded host) */
  unrouted?: true
  /** bytes of a body; default 1 MiB */
  largestBody?: number
  /** whether a repeated key in the body is an error */
  uniqueKeys?: true
  /** what the log line of a login tells of what was given */
  login?: (given: Readonly<Record<string, unknown>>) => LoginAttempt
  subject?: (place: SubjectPlace) => Key
  prepare?: (early: Early) => Promise<Prepared>
  /** taken once in a request, before `handle`, which gets its result in every try to commit; it may be taken again by another request */
  first?: (call: AlwaysCall) => Promise<unknown>
  handle: Handler<AlwaysCall> | Phased<AlwaysCall>
  /** instead of `handle`, where the mount that the path names does not exist and its endpoint is for anyone */
  handleWithoutMount?: Handler<AlwaysCall>
}

/** @param first result of the row's first step */
type Handler<C, T = unknown> = (call: C, first: T) => Outcome | Promise<Outcome>

/** How a request that asks AWS is handled. */
interface Phased<C> {
  phases: (call: C) => Phases<C>
}

/** Endpoints served by one Lambda. */
export interface Group {
  name: string
  endpoints: readonly Endpoint[]
  /** beginnings of paths, below `/v1`, under which everything is this group's: one route each, whatever is added */
  prefixes?: readonly string[]
  /** what all groups are called, loaded only when somebody asks for help with a path that this one does not serve */
  all?: () => Promise<readonly { endpoints: readonly Named[] }[]>
}

/** What help and logs show of an endpoint: its row without the handler. */
export type Named = Pick<Endpoint, 'method' | 'path' | 'also' | 'summary'>

type Handling = 'fields' | 'prepare' | 'first' | 'handle' | 'handleWithoutMount' | 'path' | 'serves' | 'uses'
type Usual = 'method' | 'access' | 'answers'

/** What a row's handler is given, by the row's path and the clusters that it serves. */
type CallOf<F extends Fields, P extends string, S extends Endpoint['serves']> = [S] extends ['always']
  ? AlwaysCall<F>
  : P extends `${typeof BELOW_MOUNT}${string}`
    ? MountCall<F>
    : Call<F>

type Row<F extends Fields, P extends string, S extends Endpoint['serves'], T> = Omit<
  Endpoint,
  Handling | Usual
> & {
  path: P
  access?: AccessRule
  answers?: Endpoint['answers']
  fields?: F
  serves?: S
  uses?: Endpoint['uses']
  prepare?: (early: Early<F>) => Promise<Prepared>
  first?: (call: CallOf<F, P, S>) => Promise<T>
  handle: Handler<CallOf<F, P, S>, NoInfer<T>> | Phased<CallOf<F, P, S>>
  handleWithoutMount?: Handler<Call<F>>
}

export const byPolicy = (
  capability: NeededCapability,
  options: { sudo?: true; orOperationToken?: true } = {},
): AccessRule => ({
  by: 'policy',
  capability,
  ...options,
})

/** Who may call by a method, and what it answers, where a row does not say. */
const usual = {
  GET: { access: byPolicy('read'), answers: 'data' },
  POST: { access: byPolicy('update'), answers: 'nothing' },
  LIST: { access: byPolicy('list'), answers: 'keys' },
  DELETE: { access: byPolicy('delete'), answers: 'nothing' },
} as const satisfies Record<Endpoint['method'], Pick<Endpoint, 'access' | 'answers'>>

/**
 * Declares an endpoint; its handler sees the fields with their types, and the cluster and the mount where `handlerOf`
 * makes sure of them.
 */
export const endpoint = <
  P extends string,
  F extends Fields = Record<never, never>,
  S extends Endpoint['serves'] = 'active',
  T = unknown,
>(
  row: Row<F, P, S, T> & Pick<Endpoint, 'method'>,
): Endpoint => {
  const whole = { serves: 'active', uses: [], ...usual[row.method], ...row }
  return { ...whole, fields: { ...operationTokenFields(whole), ...row.fields } } as unknown as Endpoint
}

const by =
  <D extends Fields>(method: Endpoint['method'], usualFields: D) =>
  <P extends string, F extends Fields = D, S extends Endpoint['serves'] = 'active', T = unknown>(
    row: Row<F, P, S, T>,
  ): Endpoint =>
    endpoint({ method, fields: usualFields as unknown as F, ...row })

/** Declares endpoints by their methods. A listing takes the fields of all listings. */
export const row = {
  get: by('GET', {}),
  post: by('POST', {}),
  list: by('LIST', listFields),
  delete: by('DELETE', {}),
}

const BELOW_MOUNT = '/auth/:mount/'

/**
 * What handles a call of a row: the cluster and the mount that its handler's type promises are there.
 * @throws ApiError `not_initialised`
 */
export function handlerOf(row: Endpoint, { cluster, mount }: AlwaysCall): Endpoint['handle'] {
  if (row.serves !== 'always' && !cluster) throw new ApiError('not_initialised')
  if (mount || !row.path.startsWith(BELOW_MOUNT)) return row.handle
  if (!row.handleWithoutMount)
    throw new ApiError('internal', 'an endpoint below a mount was called without one')
  return row.handleWithoutMount
}

export const anyone: AccessRule = { by: 'anyone' }

/** @see docs/spec/operation-tokens.md#ceremony */
export const anyoneUnlessStrict = (capability: Capability): AccessRule => ({
  by: 'anyone',
  strictly: capability,
})

/** For anyone; the handler learns who has a token that may. */
export const anyoneButIdentify = (capability: Capability): AccessRule => ({ by: 'anyone', knows: capability })

/** Whether a token makes a difference where nobody is asked for one: what its holder needs. */
export const identifyingCapability = (access: AccessRule): Capability | undefined =>
  access.by === 'anyone' ? (access.strictly ?? access.knows) : undefined

/** @see docs/spec/operation-tokens.md#operation-tokens */
export const operationToken: AccessRule = { by: 'operation-token' }

/** Whether a DR operation token in the body admits on a secondary. */
export const takesOperationToken = ({ access }: Pick<Endpoint, 'access'>): boolean =>
  access.by === 'operation-token' || (access.by === 'policy' && access.orOperationToken === true)

const operationTokenFields = (row: Pick<Endpoint, 'access'>): Fields => {
  if (!takesOperationToken(row)) return {}
  const required = row.access.by === 'operation-token'
  const about = 'DR operation token: one that was generated here, or a batch token'
  return { dr_operation_token: text(about, required ? { secret: true, required } : { secret: true }) }
}

/** Whether a request without a token in its header may be answered. */
export const isOpenToAnonymous = ({ access: { by } }: Pick<Endpoint, 'access'>): boolean =>
  by === 'anyone' || by === 'operation-token'

/** Who may call, in words. */
export const describeAccess = ({ access }: Pick<Endpoint, 'access'>): string => {
  if (access.by === 'anyone')
    return access.strictly
      ? `Needs no token; where the setting \`strictCeremony\` is on, the capability \`${access.strictly}\` on the path.`
      : 'Needs no token.'
  if (access.by === 'token') return 'Needs a valid token.'
  if (access.by === 'operation-token')
    return 'Needs a DR operation token in the body, and no token in the header.'
  const needed = `Needs the capability ${neededText(access.capability)}${access.sudo ? ' and `sudo`' : ''} on the path`
  return access.orOperationToken
    ? `${needed}, or on a DR secondary a DR operation token in the body.`
    : `${needed}.`
}

const neededText = (needed: NeededCapability): string =>
  needed === 'by-existence'
    ? '`create` for something new, else `update`,'
    : needed === 'create-or-update'
      ? '`create` or `update`'
      : `\`${needed}\``

/** What a method does to the thing that a path names. */
export const operations: Record<Endpoint['method'], Operation> = {
  POST: 'write',
  GET: 'read',
  LIST: 'list',
  DELETE: 'delete',
}

/** All paths under which an endpoint is reached: current, alternative, deprecated. */
export const pathsOf = ({ path, also, formerly }: Endpoint): string[] =>
  [path, also, formerly].filter(one => one !== undefined)

/** What a group's Lambda reaches. */
export const usesOf = (group: Group): Use[] =>
  allUses.filter(
    use =>
      ofAll.includes(use) ||
      group.endpoints.some(
        row =>
          row.uses.includes(use) ||
          (use === 'mint' && isWrappable(row)) ||
          (use === 'operation-token' && takesOperationToken(row)) ||
          (use === 'licence' && row.licence !== undefined),
      ),
  )

/** Without a token only a login's answer is wrapped: anything else would be storage for everybody. */
const isWrappable = (row: Endpoint): boolean =>
  row.answers === 'auth' || (!isOpenToAnonymous(row) && ['data', 'keys'].includes(row.answers))

const ofAll: readonly Use[] = ['read', 'spend']

/**
 * What the gateway routes to a group, below `/v1`: the fixed beginning of a path with everything below it, where
 * one parameter at most follows; the whole path otherwise, for the beginning may belong to another group.
 */
export function routesOf(group: Group): string[] {
  const paths = group.endpoints.filter(row => !row.unrouted).flatMap(pathsOf)
  const routes = paths.flatMap(path => {
    const whole = group.prefixes?.find(prefix => path.startsWith(`${prefix}/`))
    if (whole) return [`${whole}/{proxy+}`]
    const parts = path.split('/').map(part => part.replace(/^:(.*)$/, '{$1}'))
    const end = parts.findIndex(part => part.startsWith('{') && part !== '{mount}')
    if (end >= 0 && end < parts.length - 1) return [parts.join('/')]
    const prefix = parts.slice(0, end < 0 ? undefined : end).join('/')
    return [prefix, `${prefix}/{proxy+}`]
  })
  return [...new Set(routes)].sort()
}
