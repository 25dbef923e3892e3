import type { Capability } from '../model/policy.ts'
import type { Item, Key } from '../storage/kinds.ts'
import type { LoginAttempt } from '../watching/logins.ts'
import type {
  AlwaysServedCall,
  Call,
  CallOutcome,
  EarlyCall,
  MountCall,
  Operation,
  RequestPhases,
} from './call.ts'
import { ApiError } from './errors.ts'
import { type ParameterFields, textField } from './fields.ts'
import type { LicenceRule } from './licence.ts'
import { listFields } from './listing.ts'

/** Capabilities of an endpoint's code. The IAM grants and the environment of its Lambda follow from them. */
export const endpointUses = [
  /** reads the tables and unwraps the keyring; every endpoint has it */
  'read',
  /** counts a use of the caller's token; every endpoint has it */
  'spend',
  /** stores tokens and wrapped responses; every endpoint whose response can be wrapped has it */
  'mint',
  /** writes to the tables, except for items that need a capability of their own */
  'write',
  /** scans whole tables in segments */
  'scan',
  /** finds due entries through the index `expiry`, and removes hashes of unused trees */
  'sweep',
  /** stores the ends of instances whose tokens end with them */
  'ending',
  /** calls EC2, in other accounts by AssumeRole */
  'instances',
  /** calls IAM, in other accounts by AssumeRole */
  'principals',
  /** lists accounts of AWS organizations, in other accounts by AssumeRole */
  'organizations',
  /** sends a client's signed request to STS */
  'caller-identity',
  /** fetches the public keys of issuers of AWS-signed tokens */
  'issuer-keys',
  /** manages the access keys of the configured IAM user */
  'access-keys',
  /** starts work that outlives the request */
  'background',
  /** starts workflows and completes their waiting steps */
  'workflow',
  /** creates the keys of a new cluster or a new term, and stores the cluster record and the keyring */
  'key-factory',
  /** stores the verifier of the recovery shares */
  'recovery',
  /** changes the cluster record without creating keys */
  'role',
  /** stores the current attempt of a ceremony in the table `ceremony` */
  'ceremony',
  /** stores the current rekey attempt in its own partition of the table `ceremony` */
  'rekey',
  /** verifies and deletes the generated DR operation token; every endpoint that requires one has it */
  'operation-token',
  /** sends role changes to the event bus */
  'events',
  /** starts pulling from the primary */
  'pull',
  /** calls other clusters of the set over the link */
  'peers',
  /** stores what a cluster knows of the other clusters: secondaries, revocations, keys, last contact */
  'link',
  /** stores entries of the primary on a secondary; only the applier has it */
  'apply',
  /** reads and writes the journal, its tree and stored items directly; only replication has it */
  'journal',
  /** reads the CA certificates that are deployed with the function */
  'authorities',
  /** writes to the log group of the audit log */
  'audit-log',
  /** reads the deployment's licence; every endpoint that needs a licence has it */
  'licence',
] as const

export type EndpointUse = (typeof endpointUses)[number]

/** The capability that a call needs. `by-existence`: `create` for a new object, else `update`. `create-or-update`: one of the two. */
export type NeededCapability = Capability | 'by-existence' | 'create-or-update'

/** The callers that an endpoint admits. */
export type AccessRule =
  /**
   * `strictly`: capability that API callers need if the setting `strictCeremony` is on. `knows`: capability that identifies a
   * caller to the handler; callers without it stay anonymous and are not refused.
   */
  | { by: 'anyone'; strictly?: Capability; knows?: Capability }
  /** requires a valid token */
  | { by: 'token' }
  /** `orOperationToken`: on a DR secondary, a DR operation token in the body is checked first and is enough */
  | { by: 'policy'; capability: NeededCapability; sudo?: true; orOperationToken?: true }
  /**
   * On a DR secondary, requires a DR operation token in the body. On a cluster of another role only the header's token is checked;
   * then `serves` or the handler rejects the request.
   */
  | { by: 'operation-token' }

/** The parts of a path that identify an endpoint's subject. */
export interface SubjectPlace {
  /** accessor of the mount in the path; empty outside mounts */
  mount: string
  pathParameters: Readonly<Record<string, string>>
}

/** The result of an endpoint's `prepare`, which runs before the first read. */
export interface PreparedKeys {
  /** keys to add to the first read */
  keys: readonly Key[]
  /** passed to the handler */
  prepared?: unknown
  /** Replaces the first read. Returns the items of the keys in order, and may also read data that is not an item. */
  read?: (keys: readonly Key[]) => Promise<readonly (Item | undefined)[]>
}

/** One row of the API: the only description of an endpoint for routing, IAM grants, authorisation and OpenAPI. */
export interface Endpoint {
  method: 'POST' | 'GET' | 'LIST' | 'DELETE'
  /** below `/v1`, with `:name` for parameters */
  path: string
  /** deprecated path of the same endpoint. @see docs/spec/transport.md#deprecated-paths */
  formerly?: string
  /** another current path of the same endpoint */
  also?: string
  summary: string
  fields: ParameterFields
  access: AccessRule
  /**
   * The cluster roles that serve the endpoint. `active`: clusters that serve clients, so no DR secondary. `dr`: any role.
   * `primary`, `secondary`: only this role. `demotion`: a primary, or a former primary that has followed no cluster since.
   * `always`: also before initialisation and while the role changes.
   */
  serves: 'active' | 'always' | 'primary' | 'secondary' | 'dr' | 'demotion'
  /** rule for the deployment's licence; absent: none */
  licence?: LicenceRule
  /** accepts any namespace */
  anyNamespace?: true
  uses: readonly EndpointUse[]
  /** kind of a successful response; `refused`: the endpoint always rejects */
  answers: 'nothing' | 'data' | 'keys' | 'auth' | 'accepted' | 'plain' | 'refused'
  /** secret fields of the response data; the audit log contains their HMACs */
  secretAnswers?: readonly string[]
  /** repeats the response data outside `data`, because older clients read it there */
  mirrored?: true
  /** accepts parameters of any name */
  freeForm?: true
  /** accepts HEAD as well as GET */
  head?: true
  /** not written to the audit log, because machines probe it */
  unaudited?: true
  /**
   * Serves requests even if KMS cannot unwrap the keyring, to tell an operator so. The audit entries of this
   * endpoint say that they have no HMACs.
   */
  withoutKeyring?: true
  /** reachable only by invoking the Lambda directly, and on the embedded host */
  unrouted?: true
  /** bytes of the body; default 1 MiB */
  largestBody?: number
  /** rejects a repeated key in the body */
  uniqueKeys?: true
  /** Returns the facts of a login for its log line. */
  login?: (given: Readonly<Record<string, unknown>>) => LoginAttempt
  subject?: (place: SubjectPlace) => Key
  prepare?: (early: EarlyCall) => Promise<PreparedKeys>
  /** Runs once per request, before `handle`. Every commit attempt gets its result. */
  first?: (call: AlwaysServedCall) => Promise<unknown>
  handle: Handler<AlwaysServedCall> | Phased<AlwaysServedCall>
  /** Handles requests of an anonymous endpoint whose mount does not exist. */
  handleWithoutMount?: Handler<AlwaysServedCall>
}

/** @param first result of the row's `first` */
type Handler<C, T = unknown> = (call: C, first: T) => CallOutcome | Promise<CallOutcome>

/** The handling of a request that calls AWS. */
interface Phased<C> {
  phases: (call: C) => RequestPhases<C> | Promise<RequestPhases<C>>
}

/** The endpoints that one Lambda serves. */
export interface EndpointGroup {
  name: string
  endpoints: readonly Endpoint[]
  /** path prefixes below `/v1` that belong to this group alone; each is one route, whatever endpoints are added */
  prefixes?: readonly string[]
  /** Loads all groups, for help on a path that this group does not serve. */
  all?: () => Promise<readonly { endpoints: readonly EndpointName[] }[]>
}

/** The parts of an endpoint that help and logs show. */
export type EndpointName = Pick<Endpoint, 'method' | 'path' | 'also' | 'summary'>

type Handling = 'fields' | 'prepare' | 'first' | 'handle' | 'handleWithoutMount' | 'path' | 'serves' | 'uses'
type Usual = 'method' | 'access' | 'answers'

/** The type of a handler's call, by its path and the clusters that it serves. */
type CallOf<F extends ParameterFields, P extends string, S extends Endpoint['serves']> = [S] extends [
  'always',
]
  ? AlwaysServedCall<F>
  : P extends `${typeof BELOW_MOUNT}${string}`
    ? MountCall<F>
    : Call<F>

type Row<F extends ParameterFields, P extends string, S extends Endpoint['serves'], T> = Omit<
  Endpoint,
  Handling | Usual
> & {
  path: P
  access?: AccessRule
  answers?: Endpoint['answers']
  fields?: F
  serves?: S
  uses?: Endpoint['uses']
  prepare?: (early: EarlyCall<F>) => Promise<PreparedKeys>
  first?: (call: CallOf<F, P, S>) => Promise<T>
  handle: Handler<CallOf<F, P, S>, NoInfer<T>> | Phased<CallOf<F, P, S>>
  handleWithoutMount?: Handler<Call<F>>
}

export const allowByPolicy = (
  capability: NeededCapability,
  options: { sudo?: true; orOperationToken?: true } = {},
): AccessRule => ({
  by: 'policy',
  capability,
  ...options,
})

/** Default access and response kind by method. */
const usual = {
  GET: { access: allowByPolicy('read'), answers: 'data' },
  POST: { access: allowByPolicy('update'), answers: 'nothing' },
  LIST: { access: allowByPolicy('list'), answers: 'keys' },
  DELETE: { access: allowByPolicy('delete'), answers: 'nothing' },
} as const satisfies Record<Endpoint['method'], Pick<Endpoint, 'access' | 'answers'>>

/**
 * Declares an endpoint. The endpoint's handler gets typed fields, and a cluster and mount if `handlerOf` guarantees
 * them.
 */
export const declareEndpoint = <
  P extends string,
  F extends ParameterFields = Record<never, never>,
  S extends Endpoint['serves'] = 'active',
  T = unknown,
>(
  row: Row<F, P, S, T> & Pick<Endpoint, 'method'>,
): Endpoint => {
  const whole = { serves: 'active', uses: [], ...usual[row.method], ...row }
  return { ...whole, fields: { ...operationTokenFields(whole), ...row.fields } } as unknown as Endpoint
}

const by =
  <D extends ParameterFields>(method: Endpoint['method'], usualFields: D) =>
  <P extends string, F extends ParameterFields = D, S extends Endpoint['serves'] = 'active', T = unknown>(
    row: Row<F, P, S, T>,
  ): Endpoint =>
    declareEndpoint({ method, fields: usualFields as unknown as F, ...row })

/** Declare endpoints by method. A listing has the fields of all listings. */
export const endpointRow = {
  get: by('GET', {}),
  post: by('POST', {}),
  list: by('LIST', listFields),
  delete: by('DELETE', {}),
}

const BELOW_MOUNT = '/auth/:mount/'

/**
 * Returns the handler of a call. Guarantees the cluster and the mount that the handler's type promises.
 * @throws ApiError `not_initialised`
 */
export function handlerOf(row: Endpoint, { cluster, mount }: AlwaysServedCall): Endpoint['handle'] {
  if (row.serves !== 'always' && !cluster) throw new ApiError('not_initialised')
  if (mount || !row.path.startsWith(BELOW_MOUNT)) return row.handle
  if (!row.handleWithoutMount)
    throw new ApiError('internal', 'an endpoint below a mount was called without a mount')
  return row.handleWithoutMount
}

export const allowAnyone: AccessRule = { by: 'anyone' }

/** Admits anyone, unless strict ceremonies are on. @see docs/spec/operation-tokens.md#ceremony */
export const allowAnyoneUnlessStrict = (capability: Capability): AccessRule => ({
  by: 'anyone',
  strictly: capability,
})

/** Admits anyone, and identifies callers that have the capability. */
export const allowAnyoneButIdentify = (capability: Capability): AccessRule => ({
  by: 'anyone',
  knows: capability,
})

/** Returns the capability that identifies a caller of an anonymous endpoint; undefined if its token is ignored. */
export const identifyingCapability = (access: AccessRule): Capability | undefined =>
  access.by === 'anyone' ? (access.strictly ?? access.knows) : undefined

/** Admits DR operation tokens. @see docs/spec/operation-tokens.md#operation-tokens */
export const allowOperationToken: AccessRule = { by: 'operation-token' }

/** Reports whether a DR operation token in the body admits a request on a secondary. */
export const takesOperationToken = ({ access }: Pick<Endpoint, 'access'>): boolean =>
  access.by === 'operation-token' || (access.by === 'policy' && access.orOperationToken === true)

const operationTokenFields = (row: Pick<Endpoint, 'access'>): ParameterFields => {
  if (!takesOperationToken(row)) return {}
  const required = row.access.by === 'operation-token'
  const about = 'DR operation token: generated on this cluster, or a batch token'
  return { dr_operation_token: textField(about, required ? { secret: true, required } : { secret: true }) }
}

/** Reports whether requests without a token in the header are served. */
export const isOpenToAnonymous = ({ access: { by } }: Pick<Endpoint, 'access'>): boolean =>
  by === 'anyone' || by === 'operation-token'

/** Describes the admitted callers in a sentence. */
export const describeAccess = ({ access }: Pick<Endpoint, 'access'>): string => {
  if (access.by === 'anyone')
    return access.strictly
      ? `Needs no token; with the setting \`strictCeremony\`, needs the capability \`${access.strictly}\` on the path.`
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
    ? '`create` for a new object, else `update`,'
    : needed === 'create-or-update'
      ? '`create` or `update`'
      : `\`${needed}\``

/** The operation of each method. */
export const operationByMethod: Record<Endpoint['method'], Operation> = {
  POST: 'write',
  GET: 'read',
  LIST: 'list',
  DELETE: 'delete',
}

/** Returns all paths of an endpoint: current, alternative and deprecated. */
export const pathsOf = ({ path, also, formerly }: Endpoint): string[] =>
  [path, also, formerly].filter(one => one !== undefined)

/** Returns the capabilities of a group's Lambda. */
export const usesOf = (group: EndpointGroup): EndpointUse[] =>
  endpointUses.filter(
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

/** Reports whether a response can be wrapped. Without a token only logins can be, because anyone could store data otherwise. */
const isWrappable = (row: Endpoint): boolean =>
  row.answers === 'auth' || (!isOpenToAnonymous(row) && ['data', 'keys'].includes(row.answers))

const ofAll: readonly EndpointUse[] = ['read', 'spend']

/**
 * Returns the API Gateway routes of a group, below `/v1`: the fixed prefix of each path and everything below it. If more than one
 * parameter follows the prefix, it returns the whole path, because the prefix may belong to another group.
 */
export function routesOf(group: EndpointGroup): string[] {
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
