import * as v from 'valibot'

const idOf = (kind: string) =>
  v.pipe(
    v.string(),
    v.regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), `must be an id such as ${kind}-0123456789abcdef0`),
  )

const idsOf = (kind: string, least: number) =>
  v.pipe(
    v.array(idOf(kind)),
    v.minLength(least, `must have ${least} or more IDs`),
    v.check(ids => new Set(ids).size === ids.length, 'must not name an ID twice'),
  )

const cidr = v.pipe(
  v.string(),
  v.regex(/^\d{1,3}(?:\.\d{1,3}){3}\/\d{1,2}$/, 'must be a CIDR block such as 10.0.0.0/8'),
)

const zone = v.pipe(
  v.string(),
  v.regex(/^Z[A-Z0-9]{1,31}$/, 'must be the id of a Route 53 hosted zone, such as Z0123456789ABC'),
)

/** A DNS name with its certificate. */
const domain = {
  name: v.pipe(
    v.string(),
    v.regex(
      /^(?=.{4,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/,
      'must be a DNS name in lower case',
    ),
  ),
  /** in the same region */
  certificateArn: v.pipe(
    v.string(),
    v.regex(
      /^arn:aws[a-z-]*:acm:[a-z0-9-]+:\d{12}:certificate\/[\w-]+$/,
      'must be the ARN of an ACM certificate',
    ),
  ),
  /** hosted zone in which an alias record is added; without this setting the operator makes the record */
  zoneId: v.optional(zone),
}

/** Settings of the API's front end. */
export const frontSettingFields = {
  /** front end that receives the clients' requests */
  front: v.optional(
    v.variant('kind', [
      /** an HTTP API, reachable from the internet */
      v.strictObject({ kind: v.literal('httpApi') }),
      /** a private REST API, reachable only through interface endpoints of VPCs */
      v.strictObject({ kind: v.literal('privateRestApi'), vpcEndpointIds: idsOf('vpce', 1) }),
      /** a load balancer, reachable from the named networks; `internal`: only inside its VPC */
      v.strictObject({
        kind: v.literal('loadBalancer'),
        vpcId: idOf('vpc'),
        subnetIds: idsOf('subnet', 2),
        networks: v.pipe(
          v.array(cidr),
          v.minLength(1, 'must name at least one network, because the load balancer admits no other callers'),
        ),
        internal: v.optional(v.boolean(), true),
      }),
    ]),
    { kind: 'httpApi' },
  ),
  /**
   * DNS name of the clients' front end. `truststore` names a PEM file in S3: a client certificate must be
   * signed by one of the file's CAs.
   */
  domain: v.optional(
    v.strictObject({
      ...domain,
      truststore: v.optional(
        v.strictObject({
          uri: v.pipe(v.string(), v.regex(/^s3:\/\/[a-z0-9.-]{3,63}\/.+$/, 'must be "s3://<bucket>/<key>"')),
          /** version of the S3 object; without `version` a changed file is not read again */
          version: v.optional(v.pipe(v.string(), v.nonEmpty())),
        }),
      ),
    }),
  ),
  /**
   * separate HTTP API with a name of its own for other clusters of a DR set, needed if the clients' front end
   * cannot carry the calls of these clusters
   */
  linkDomain: v.optional(v.strictObject(domain)),
  /**
   * DNS name that both clusters of a DR set share and that leads to the serving cluster. `preferred` is true
   * in one of the two clusters: the shared name leads to the preferred cluster when both clusters serve or
   * neither cluster serves.
   */
  sharedAddress: v.optional(v.strictObject({ ...domain, zoneId: zone, preferred: v.boolean() })),
}

type Given = v.InferOutput<v.StrictObjectSchema<typeof frontSettingFields, undefined>>

/** Other settings that the rules for front ends read. */
interface Others {
  apiAddress?: string | undefined
  closeDefaultEndpoint: boolean
  proxy?: object | undefined
  drill?: object | undefined
  license?: string | undefined
  console?: { peer?: string | undefined } | undefined
  consoleOrigin?: string | undefined
}

/**
 * Reports whether the clients' front end carries calls of other clusters. Such calls need request bodies of 3
 * MiB and come from the internet without a client certificate.
 */
export const frontCarriesLink = ({ front, domain }: Pick<Given, 'front' | 'domain'>): boolean =>
  front.kind === 'httpApi' && domain?.truststore === undefined

/**
 * Reports whether callers outside a VPC and without a client certificate reach the API: the drill function, and Route
 * 53's health checkers.
 */
export const isFrontPublic = (given: Pick<Given, 'front' | 'domain'>): boolean =>
  frontCarriesLink(given) || (given.front.kind === 'loadBalancer' && !given.front.internal)

/** Settings without effect for a kind of front end, with the reason. */
const IDLE: Readonly<Record<Given['front']['kind'], Readonly<Record<string, string>>>> = {
  httpApi: {},
  privateRestApi: {
    domain: 'a private REST API has no custom domain here, only the name that API Gateway assigns',
    closeDefaultEndpoint: 'a private REST API has no default endpoint to close',
    healthThrottle: 'a private REST API has one throttle for all methods',
    console: 'a private REST API serves only paths below /v1',
  },
  loadBalancer: {
    closeDefaultEndpoint: 'a load balancer has no default endpoint of API Gateway',
    throttle: 'a load balancer has no throttle; use a rate rule of AWS WAF',
    healthThrottle: 'a load balancer has no throttle; use a rate rule of AWS WAF',
  },
}

type Rule = (given: Given & Others) => string | false

/** Rules between settings of front ends, each with the setting at fault. */
const RULES: readonly (readonly [name: string, rule: Rule])[] = [
  [
    'domain',
    ({ front, domain }) =>
      front.kind === 'loadBalancer' &&
      !domain &&
      'is required for a load balancer, because it needs a certificate',
  ],
  [
    'domain',
    ({ front, domain }) =>
      front.kind === 'loadBalancer' &&
      domain?.truststore !== undefined &&
      'truststore cannot be used with a load balancer: only the HTTP API verifies client certificates',
  ],
  [
    'apiAddress',
    ({ domain, proxy, apiAddress }) =>
      domain !== undefined &&
      proxy === undefined &&
      apiAddress !== undefined &&
      apiAddress !== `https://${domain.name}` &&
      `must be https://${domain.name} (the name of domain) or be left out, because no proxy is set`,
  ],
  [
    'linkDomain',
    given =>
      frontCarriesLink(given) &&
      given.linkDomain !== undefined &&
      'must be left out: the public HTTP API accepts calls of other clusters itself',
  ],
  [
    'linkDomain',
    ({ domain, linkDomain }) =>
      linkDomain !== undefined && linkDomain.name === domain?.name && 'must not have the same name as domain',
  ],
  [
    'linkDomain',
    given =>
      !frontCarriesLink(given) &&
      given.linkDomain === undefined &&
      given.license !== undefined &&
      'is required with a licence: this front cannot carry calls of other clusters of a DR set',
  ],
  [
    'sharedAddress',
    ({ sharedAddress, apiAddress }) =>
      sharedAddress !== undefined &&
      (apiAddress === undefined || apiAddress === `https://${sharedAddress.name}`) &&
      'needs domain or apiAddress with a different name, because health checks use the cluster’s own address',
  ],
  [
    'sharedAddress',
    given =>
      given.sharedAddress !== undefined &&
      (given.front.kind === 'privateRestApi' || given.proxy !== undefined) &&
      'cannot be used with a private REST API, which has no custom domain, or with proxy',
  ],
  [
    'console',
    ({ console: page, apiAddress }) =>
      page?.peer !== undefined &&
      page.peer === apiAddress &&
      'peer must be the address of the other cluster, not of this one',
  ],
  [
    'consoleOrigin',
    ({ consoleOrigin, apiAddress }) =>
      consoleOrigin !== undefined &&
      consoleOrigin === apiAddress &&
      'must be the address of the other cluster’s page, not of this one, which is always allowed',
  ],
  [
    'drill',
    given =>
      given.drill !== undefined &&
      !isFrontPublic(given) &&
      'needs a front that is reachable from the internet without client certificates, because the drill function calls both clusters there',
  ],
]

/**
 * Returns the faults between settings of front ends, each with the name of its setting.
 * @param given the settings as read
 * @param named names of the settings that the deployment gives
 */
export function findFrontFaults(given: Given & Others, named: readonly string[]): string[] {
  const idle = { ...IDLE[given.front.kind], ...(given.linkDomain || frontCarriesLink(given) ? {} : NO_LINK) }
  return [
    ...Object.entries(idle).flatMap(([name, why]) =>
      named.includes(name) ? [`${name}: has no effect: ${why}`] : [],
    ),
    ...RULES.flatMap(([name, rule]) => {
      const fault = rule(given)
      return fault ? [`${name}: ${fault}`] : []
    }),
  ]
}

const NO_LINK = { linkThrottle: 'without linkDomain other clusters cannot reach this one' }

/**
 * Adds `apiAddress` from the name of the clients' front end, unless `apiAddress` is set or a proxy has
 * another address.
 */
export function addDefaultApiAddress(given: unknown): unknown {
  const { apiAddress, domain, proxy } = (given ?? {}) as Record<string, unknown>
  const name = (domain as { name?: unknown } | undefined)?.name
  if (typeof name !== 'string' || apiAddress !== undefined || proxy !== undefined) return given
  return { ...(given as object), apiAddress: `https://${name}` }
}
