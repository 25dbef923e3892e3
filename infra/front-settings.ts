import * as v from 'valibot'

const idOf = (kind: string) =>
  v.pipe(
    v.string(),
    v.regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), `must be an id such as ${kind}-0123456789abcdef0`),
  )

const idsOf = (kind: string, least: number) =>
  v.pipe(
    v.array(idOf(kind)),
    v.minLength(least, `must name at least ${least}`),
    v.check(ids => new Set(ids).size === ids.length, 'must name each once'),
  )

const cidr = v.pipe(
  v.string(),
  v.regex(/^\d{1,3}(?:\.\d{1,3}){3}\/\d{1,2}$/, 'must be a network such as 10.0.0.0/8'),
)

const zone = v.pipe(v.string(), v.regex(/^Z[A-Z0-9]{1,31}$/, 'must be the id of a hosted zone'))

/** A name in DNS, and what shows that it is ours. */
const domain = {
  name: v.pipe(
    v.string(),
    v.regex(
      /^(?=.{4,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/,
      'must be a name in DNS, in lower case',
    ),
  ),
  /** of the same region */
  certificateArn: v.pipe(
    v.string(),
    v.regex(
      /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[\w-]+$/,
      'must be the ARN of a certificate of ACM',
    ),
  ),
  /** zone of Route 53 in which the name becomes an alias; without it that is done elsewhere */
  zoneId: v.optional(zone),
}

/** Settings of what stands before the functions. */
export const frontFields = {
  /** who receives what clients send */
  front: v.optional(
    v.variant('kind', [
      /** reached by everybody */
      v.strictObject({ kind: v.literal('httpApi') }),
      /** reached through interface endpoints of VPCs alone */
      v.strictObject({ kind: v.literal('privateRestApi'), vpcEndpointIds: idsOf('vpce', 1) }),
      /** reached from the networks that are named; `internal`: from inside its VPC */
      v.strictObject({
        kind: v.literal('loadBalancer'),
        vpcId: idOf('vpc'),
        subnetIds: idsOf('subnet', 2),
        networks: v.pipe(v.array(cidr), v.minLength(1, 'must name a network: nobody would be let in')),
        internal: v.optional(v.boolean(), true),
      }),
    ]),
    { kind: 'httpApi' },
  ),
  /**
   * name of the clients' front; `truststore`: a file of certificates in S3, of which one must have signed the certificate
   * that a client shows
   */
  domain: v.optional(
    v.strictObject({
      ...domain,
      truststore: v.optional(
        v.strictObject({
          uri: v.pipe(
            v.string(),
            v.regex(/^s3:\/\/[a-z0-9.-]{3,63}\/.+$/, 'must be "s3://", bucket and key'),
          ),
          /** of the object; without it a changed file is not looked at */
          version: v.optional(v.pipe(v.string(), v.nonEmpty())),
        }),
      ),
    }),
  ),
  /** an HTTP API, and a name, for other clusters of a DR set alone: where the clients' front cannot carry their calls */
  linkDomain: v.optional(v.strictObject(domain)),
  /**
   * a name that both clusters of a DR set have, and that leads to the one that serves; `preferred`, in one of both: where it
   * leads when both say that they serve, or neither does
   */
  sharedAddress: v.optional(v.strictObject({ ...domain, zoneId: zone, preferred: v.boolean() })),
}

type Given = v.InferOutput<v.StrictObjectSchema<typeof frontFields, undefined>>

/** What else faults may be about. */
interface Others {
  apiAddress?: string | undefined
  closeDefaultEndpoint: boolean
  proxy?: object | undefined
  drill?: object | undefined
  license?: string | undefined
  console?: { peer?: string | undefined } | undefined
  consoleOrigin?: string | undefined
}

/** Whether the clients' front takes calls of other clusters: 3 MiB at once, from anywhere, without certificate. */
export const carriesLink = ({ front, domain }: Pick<Given, 'front' | 'domain'>): boolean =>
  front.kind === 'httpApi' && domain?.truststore === undefined

/** Whether somebody who stands in no VPC and has no certificate can ask the API: a function of ours, a checker of Route 53. */
export const isPubliclyReachable = (given: Pick<Given, 'front' | 'domain'>): boolean =>
  carriesLink(given) || (given.front.kind === 'loadBalancer' && !given.front.internal)

/** Settings that change nothing beside a kind of front, with the reason. */
const IDLE: Readonly<Record<Given['front']['kind'], Readonly<Record<string, string>>>> = {
  httpApi: {},
  privateRestApi: {
    domain:
      'a private REST API has the name that API Gateway gives it: private custom domain names are not offered here',
    closeDefaultEndpoint: 'a private REST API has no other address',
    healthThrottle: 'all methods of a private REST API share its throttle',
    console: 'a private REST API serves nothing beside /v1',
  },
  loadBalancer: {
    closeDefaultEndpoint: 'a load balancer has no address of API Gateway',
    throttle: 'a load balancer has no throttle: give it a rule of WAF',
    healthThrottle: 'a load balancer has no throttle: give it a rule of WAF',
  },
}

type Rule = (given: Given & Others) => string | false

/** What settings of fronts say about others, by the setting that is at fault. */
const RULES: readonly (readonly [name: string, rule: Rule])[] = [
  [
    'domain',
    ({ front, domain }) =>
      front.kind === 'loadBalancer' && !domain && 'is needed: a load balancer listens with a certificate',
  ],
  [
    'domain',
    ({ front, domain }) =>
      front.kind === 'loadBalancer' &&
      domain?.truststore !== undefined &&
      'truststore: certificates of clients are asked for by the HTTP API alone',
  ],
  [
    'apiAddress',
    ({ domain, proxy, apiAddress }) =>
      domain !== undefined &&
      proxy === undefined &&
      apiAddress !== undefined &&
      apiAddress !== `https://${domain.name}` &&
      `must be https://${domain.name}, the name of the domain, or be left out: there is no proxy that has another`,
  ],
  [
    'linkDomain',
    given =>
      carriesLink(given) &&
      given.linkDomain !== undefined &&
      'is not needed: the public HTTP API takes calls of other clusters itself',
  ],
  [
    'linkDomain',
    ({ domain, linkDomain }) =>
      linkDomain !== undefined && linkDomain.name === domain?.name && 'must have another name than domain',
  ],
  [
    'linkDomain',
    given =>
      !carriesLink(given) &&
      given.linkDomain === undefined &&
      given.license !== undefined &&
      'is needed with a licence: other clusters of a DR set cannot come through this front',
  ],
  [
    'sharedAddress',
    ({ sharedAddress, apiAddress }) =>
      sharedAddress !== undefined &&
      (apiAddress === undefined || apiAddress === `https://${sharedAddress.name}`) &&
      'needs domain or apiAddress, with another name: the cluster is checked at its own address',
  ],
  [
    'sharedAddress',
    given =>
      given.sharedAddress !== undefined &&
      (given.front.kind === 'privateRestApi' || given.proxy !== undefined) &&
      'cannot lead to a private REST API, which has no name of its own, nor to what stands before the front as a proxy',
  ],
  [
    'console',
    ({ console: page, apiAddress }) =>
      page?.peer !== undefined &&
      page.peer === apiAddress &&
      'peer must be the address of the other cluster: the page asks its own anyway',
  ],
  [
    'consoleOrigin',
    ({ consoleOrigin, apiAddress }) =>
      consoleOrigin !== undefined &&
      consoleOrigin === apiAddress &&
      'must be where the other cluster has its page: that of this cluster needs no leave',
  ],
  [
    'drill',
    given =>
      given.drill !== undefined &&
      !isPubliclyReachable(given) &&
      'needs a front that is reached from outside, without client certificates: so its function asks both clusters',
  ],
]

/**
 * What is wrong with the settings of fronts as a whole.
 * @param given as it was read
 * @param named the names of the settings that were given
 * @returns a text for each fault, with the name of its setting
 */
export function findFrontFaults(given: Given & Others, named: readonly string[]): string[] {
  const idle = { ...IDLE[given.front.kind], ...(given.linkDomain || carriesLink(given) ? {} : NO_LINK) }
  return [
    ...Object.entries(idle).flatMap(([name, why]) =>
      named.includes(name) ? [`${name}: says nothing here: ${why}`] : [],
    ),
    ...RULES.flatMap(([name, rule]) => {
      const fault = rule(given)
      return fault ? [`${name}: ${fault}`] : []
    }),
  ]
}

const NO_LINK = { linkThrottle: 'other clusters have no way to this one, without linkDomain' }

/** Settings with the address that follows from the name of the clients' front, where no proxy has another. */
export function addDefaultAddress(given: unknown): unknown {
  const { apiAddress, domain, proxy } = (given ?? {}) as Record<string, unknown>
  const name = (domain as { name?: unknown } | undefined)?.name
  if (typeof name !== 'string' || apiAddress !== undefined || proxy !== undefined) return given
  return { ...(given as object), apiAddress: `https://${name}` }
}
