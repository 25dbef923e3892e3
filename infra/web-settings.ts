import * as v from 'valibot'

const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(1))

/** Rates that Lambda takes for the endpoint of a Web Function, requests a second. */
const WEB_RATES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(of => [100 * of, 1000 * of])

/** Settings of where logins run, if not in a Lambda of the API. */
export const webFields = {
  /** logins run in a Web Function, behind a distribution of CloudFront that leads everything else to the API */
  webLogins: v.optional(
    v.strictObject({
      /** certificate of the host of `apiAddress`, which is that of the distribution */
      certificateArn: v.pipe(
        v.string(),
        v.regex(
          /^arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate\/[\w-]+$/,
          'must be the ARN of a certificate in us-east-1, where CloudFront looks for it',
        ),
      ),
      /** secret of Secrets Manager, in this region, whose text is the proxy's secret: the distribution sends it to its origins */
      originSecretArn: v.pipe(
        v.string(),
        v.regex(
          /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+$/,
          'must be the ARN of a secret of Secrets Manager',
        ),
      ),
      /** web ACL of WAF, of the scope CLOUDFRONT */
      webAclArn: v.optional(
        v.pipe(
          v.string(),
          v.regex(
            /^arn:aws[a-z-]*:wafv2:us-east-1:\d{12}:global\/webacl\/[\w-]+\/[\w-]+$/,
            'must be the ARN of a web ACL of the scope CLOUDFRONT',
          ),
        ),
      ),
      /** requests that an environment serves at once, at most */
      concurrency: v.optional(v.pipe(wholeNumber, v.maxValue(128)), 64),
      /** environments, at most; default: what the account's quota of vCPUs has room for */
      environments: v.optional(v.pipe(wholeNumber, v.minValue(2))),
      /** logins a second of everybody together, as `throttle` for the API */
      rateLimit: v.optional(
        v.pipe(
          v.number(),
          v.check(
            rate => WEB_RATES.includes(rate),
            'must be one of 100 to 1000 by hundreds, or of 2000 to 10000 by thousands',
          ),
        ),
        500,
      ),
    }),
  ),
}

/** What else faults may be about. */
interface Others {
  webLogins?: object | undefined
  front: { kind: string }
  domain?: object | undefined
  apiAddress?: string | undefined
  proxy?: object | undefined
  closeDefaultEndpoint: boolean
  loginProvisionedConcurrency?: number | undefined
}

/** Why logins cannot run in a Web Function with these settings; undefined: they can, or shall not. */
export function findWebFault({
  webLogins,
  front,
  domain,
  apiAddress,
  proxy,
  closeDefaultEndpoint,
  loginProvisionedConcurrency: provisioned,
}: Others): string | undefined {
  if (!webLogins) return undefined
  if (front.kind !== 'httpApi')
    return 'needs the public HTTP API as its front: its distribution reaches no other'
  if (!apiAddress || !proxy)
    return 'needs apiAddress, the address of its distribution, and proxy: both origins take requests from there only'
  if (closeDefaultEndpoint)
    return 'needs the address that API Gateway gives, which closeDefaultEndpoint closes'
  if (domain) return 'has the name of its distribution: domain, a name of the API, would lead around it'
  if (provisioned) return 'leaves environments of loginProvisionedConcurrency without logins'
  return undefined
}
