import * as v from 'valibot'

const wholeNumber = v.pipe(v.number(), v.integer(), v.minValue(1))

/** Rate limits that Lambda accepts for a Web Function's endpoint, in requests per second. */
const WEB_RATES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].flatMap(of => [100 * of, 1000 * of])

/** Settings of logins in a Web Function. */
export const webSettingFields = {
  /**
   * runs logins in a Web Function. A CloudFront distribution leads logins to the Web Function and all other
   * requests to the API.
   */
  webLogins: v.optional(
    v.strictObject({
      /** certificate for the host of `apiAddress`, which is the distribution's name */
      certificateArn: v.pipe(
        v.string(),
        v.regex(
          /^arn:aws[a-z-]*:acm:us-east-1:\d{12}:certificate\/[\w-]+$/,
          'must be the ARN of an ACM certificate in us-east-1, where CloudFront reads it',
        ),
      ),
      /**
       * Secrets Manager secret in this region whose text is the proxy's secret; the distribution sends it to its
       * origins
       */
      originSecretArn: v.pipe(
        v.string(),
        v.regex(
          /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+$/,
          'must be the ARN of a Secrets Manager secret',
        ),
      ),
      /** WAF web ACL of the scope CLOUDFRONT */
      webAclArn: v.optional(
        v.pipe(
          v.string(),
          v.regex(
            /^arn:aws[a-z-]*:wafv2:us-east-1:\d{12}:global\/webacl\/[\w-]+\/[\w-]+$/,
            'must be the ARN of a WAF web ACL of the scope CLOUDFRONT',
          ),
        ),
      ),
      /** maximum number of concurrent requests in one environment */
      concurrency: v.optional(v.pipe(wholeNumber, v.maxValue(128)), 64),
      /** maximum number of environments; default: as many as the account's vCPU quota allows */
      environments: v.optional(v.pipe(wholeNumber, v.minValue(2))),
      /** maximum number of logins per second over all clients, like `throttle` for the API */
      rateLimit: v.optional(
        v.pipe(
          v.number(),
          v.check(
            rate => WEB_RATES.includes(rate),
            'must be a multiple of 100 up to 1000, or a multiple of 1000 up to 10000',
          ),
        ),
        500,
      ),
    }),
  ),
}

/** Other settings that the rules for Web Functions read. */
interface Others {
  webLogins?: object | undefined
  front: { kind: string }
  domain?: object | undefined
  apiAddress?: string | undefined
  proxy?: object | undefined
  closeDefaultEndpoint: boolean
  loginProvisionedConcurrency?: number | undefined
}

/**
 * Returns why logins cannot run in a Web Function with these settings, or undefined if they can, or if
 * `webLogins` is not set.
 */
export function findWebSettingFault({
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
    return 'needs the public HTTP API as front, because the CloudFront distribution can reach no other'
  if (!apiAddress || !proxy)
    return 'needs apiAddress (the distribution’s address) and proxy, because both origins accept requests from the distribution only'
  if (closeDefaultEndpoint)
    return 'cannot be used with closeDefaultEndpoint, because the distribution calls API Gateway’s default endpoint'
  if (domain) return 'cannot be used with domain, because requests to that name would bypass the distribution'
  if (provisioned)
    return 'cannot be used with loginProvisionedConcurrency, because the login function gets no requests then'
  return undefined
}
