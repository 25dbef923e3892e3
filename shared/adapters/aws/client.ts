import { defined } from '../../values/defined.ts'
import { readOwnCredentials, readWireSettings } from './environment.ts'
import type { AwsCallSettings } from './provider-settings.ts'
import { ATTEMPT_TIMEOUT_MS, FIRST_RETRY_PAUSE_MS, MAX_ATTEMPTS } from './wire/limits.ts'
import { wireTransport } from './wire/post.ts'
import { createRetryCall } from './wire/retry.ts'
import { createSigV4Signer, type SignPost } from './wire/sign.ts'
import type { SigningKeySource } from './wire/signed-posts.ts'

/** A signed request of the SDK. None of this service's requests has a query. */
interface SdkRequest {
  protocol: string
  hostname: string
  port?: number
  path: string
  headers: Record<string, string>
  body?: string | Uint8Array
}

/**
 * Creates a request handler that sends the SDK's requests over our connections and within our limits. The SDK's own
 * handler limits neither the time nor the size of a body, and does not replace kept connections that died while the
 * environment was frozen.
 * @param isOnce whether the client sends a request only once, over a connection of its own
 */
export const createWireRequestHandler = (isOnce = false) => ({
  handle: async (
    { protocol, hostname, port, path, headers, body = '' }: SdkRequest,
    { requestTimeout = ATTEMPT_TIMEOUT_MS }: { requestTimeout?: number } = {},
  ) => {
    const address = {
      secure: protocol === 'https:',
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === undefined ? '' : String(port),
      host: headers['host'] ?? hostname,
      path,
    }
    const { status: statusCode, ...rest } = await wireTransport.post(
      address,
      headers,
      body,
      requestTimeout,
      isOnce,
    )
    return { response: { statusCode, ...rest } }
  },
})

/** The target of a client of the SDK. */
interface ClientTarget {
  region: string
  credentials: SigningKeySource
  /** `endpoint` that this client is configured with; absent: the default endpoint */
  endpoint?: string
}

const AGENT = 'cloud-auth'

/** The signing name and region that the rules of an endpoint prescribe. */
interface EndpointScheme {
  signingName?: string
  signingRegion?: string
}

/** The service's time, as the SDK estimates the time from earlier answers. */
interface SigningTime {
  signingDate?: Date | number | string
}

/** AWS requires signatures of these headers. Proxies and Lambda may change the other headers. */
const SIGNED = /^(content-type|x-amz-.*)$/

/**
 * Creates a signer for a client of the SDK. The SDK's own signer hashes the credentials and imports the signing key
 * for each request.
 * @param service as signatures name it
 */
function createSdkSigner(service: string, region: string, credentials: SigningKeySource) {
  const signers = new Map<string, SignPost>()
  return async ({ signingName = service, signingRegion = region }: EndpointScheme = {}) => {
    const key = `${signingName} ${signingRegion}`
    const signPost = signers.get(key) ?? createSigV4Signer(signingName, signingRegion)
    signers.set(key, signPost)
    const sign = async <R extends SdkRequest>(request: R, { signingDate = Date.now() }: SigningTime = {}) => {
      const { host = request.hostname } = request.headers
      const signed = Object.entries(request.headers).filter(([name]) => SIGNED.test(name))
      const { path, body = '' } = request
      const post = { host, path, headers: Object.fromEntries(signed), body }
      Object.assign(request.headers, signPost(post, await credentials(), new Date(signingDate).getTime()))
      return request
    }
    return { sign }
  }
}

/**
 * Returns settings for a client of the SDK with which the client looks up nothing in files or variables. The client
 * makes single attempts, because this service's own code retries within budgets.
 * @param service as the variable `AWS_ENDPOINT_URL_<service>` names it
 */
export function buildClientSettings(
  service: string,
  { region, credentials, endpoint }: ClientTarget,
  requestHandler: object = createWireRequestHandler(),
) {
  const { fips, dualStack, endpointOf } = readWireSettings()
  const given = endpoint ?? endpointOf(service)
  return {
    region,
    // The source caches credentials by itself, so the client calls it for each request.
    credentials: Object.assign(async () => credentials(), { memoized: true }),
    ...(given === undefined ? {} : { endpoint: given }),
    ignoreConfiguredEndpointUrls: true,
    useFipsEndpoint: fips,
    useDualstackEndpoint: dualStack,
    maxAttempts: 1,
    cacheMiddleware: true,
    retryMode: 'standard',
    requestHandler,
    bodyLengthChecker: (body: string | Uint8Array) => Buffer.byteLength(body),
    authSchemePreference: async () => [],
    defaultUserAgentProvider: async (): Promise<[string, string][]> => [[AGENT, '']],
    userAgentAppId: async () => undefined,
  }
}

/** Returns settings for a client of this deployment's own services, which retries by itself. */
export const buildServiceSettings = (service: string) => ({
  ...buildClientSettings(service, { region: readWireSettings().region, credentials: readOwnCredentials }),
  maxAttempts: MAX_ATTEMPTS,
})

/** The options of one attempt of a call. */
type Options = { requestTimeout: number }

/**
 * Limits one attempt of a call.
 * @param left milliseconds that the call has left
 */
export const limitAttemptTime = (left: number): Options => ({
  requestTimeout: Math.min(ATTEMPT_TIMEOUT_MS, Math.max(1, left)),
})

/** One attempt of a call to AWS. */
export type SdkCallAttempt<C, T> = (client: C, options: Options) => Promise<T>

/**
 * Makes calls with a client of the SDK, retried as the client's settings say.
 * @param ms that a call may take, with all its attempts
 */
export type SdkCaller<C> = <T>(attempt: SdkCallAttempt<C, T>, ms?: number) => Promise<T>

type CallerSettings = ReturnType<typeof buildClientSettings> & { signer: ReturnType<typeof createSdkSigner> }

export function createSdkCaller<C extends { middlewareStack: { remove(name: string): boolean } }>(
  Client: new (settings: CallerSettings) => C,
  service: string,
  settings: AwsCallSettings & { retriesThrottled?: boolean },
): SdkCaller<C> {
  const client = new Client({
    ...buildClientSettings(service, settings),
    signer: createSdkSigner(service, settings.region, settings.credentials),
  })
  // without a logger, this middleware only copies every answer
  client.middlewareStack.remove('loggerMiddleware')
  const { maxAttempts: most, retriesThrottled, onRetry } = settings
  const insist = createRetryCall(defined({ most, pauseMs: FIRST_RETRY_PAUSE_MS, retriesThrottled, onRetry }))
  return (attempt, ms) => insist(left => resendAfterSkew(() => attempt(client, limitAttemptTime(left))), ms)
}

/**
 * Sends a request again at once if the service's clock differs from this process's clock. The first request was
 * refused because of its time, so it had no effect.
 */
const resendAfterSkew = <T>(send: () => Promise<T>): Promise<T> =>
  send().catch((error: { $metadata?: { clockSkewCorrected?: boolean } }) => {
    if (error.$metadata?.clockSkewCorrected) return send()
    throw error
  })
