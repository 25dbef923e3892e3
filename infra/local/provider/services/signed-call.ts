import { randomUUID } from 'node:crypto'
import { answerUnderFault, type ProviderExchange } from '../faults/exchange.ts'
import { isWithinRateLimits } from '../faults/limits.ts'
import { type AwsCaller, type CallerAccessKey, lookUpCallerKey } from '../identity/callers.ts'
import { issuerDocument } from '../identity/federation.ts'
import { isActionDenied, notAuthorizedText } from '../identity/permissions.ts'
import { toCanonicalPath } from '../signing/canonical.ts'
import { checkSignedHost } from '../signing/host-rule.ts'
import { readPresentedSignature } from '../signing/presented-signature.ts'
import { verifySignature } from '../signing/sigv4.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { AwsError } from '../wire/errors.ts'
import {
  createTextAnswer,
  type HttpAnswer,
  requestHeaderOf,
  type WireOutcome,
  type WireRequest,
} from '../wire/http.ts'
import { findAwsService, guessAwsService } from './all.ts'
import type { ProviderService } from './service.ts'

/** Answers a request for the documents of an issuer; undefined for other requests. */
export function answerIssuerRequest(
  aws: ImitatedAws,
  request: WireRequest,
): Promise<WireOutcome> | undefined {
  const host = /^host=([\w.-]+)$/.exec(requestHeaderOf(request, 'forwarded') ?? '')?.[1]
  if (request.method !== 'GET' || host === undefined || !request.path.startsWith('/.well-known/'))
    return undefined
  const refuse = (): HttpAnswer => createTextAnswer(500, 'text/plain', 'internal error')
  const action = request.path.slice('/.well-known/'.length)
  const facts = { request, service: 'oidc', action, account: null, region: null, principalArn: null, refuse }
  return answerUnderFault(aws, facts, async () => {
    const document = issuerDocument(aws, host, request.path)
    return document === undefined
      ? createTextAnswer(404, 'text/plain', 'not found')
      : createTextAnswer(200, 'application/json', JSON.stringify(document))
  })
}

/** A request with the facts that are known before its signature is verified. */
interface Opened {
  request: WireRequest
  requestId: string
  presented: ReturnType<typeof readPresentedSignature>
  key: CallerAccessKey | undefined
  service: ProviderService
  exchange: ProviderExchange
}

/** Answers a request to one of the services: verifies the signer, checks permissions and limits, runs the action. */
export function answerSignedCall(aws: ImitatedAws, request: WireRequest): Promise<WireOutcome> {
  const opened = open(aws, request)
  return answerUnderFault(aws, opened.exchange, async () => {
    try {
      return await perform(aws, opened)
    } catch (error) {
      return opened.exchange.refuse(
        error instanceof AwsError ? error : new AwsError('internal', String(error)),
      )
    }
  })
}

function open(aws: ImitatedAws, request: WireRequest): Opened {
  const requestId = randomUUID()
  const presented = readPresentedSignature(request)
  const scope = presented.ok ? presented.value.scope : undefined
  const key = presented.ok ? lookUpCallerKey(aws, presented.value) : undefined
  const [name, service] = findAwsService(scope?.service) ?? guessAwsService(request)
  const exchange: ProviderExchange = {
    request,
    service: scope?.service ?? name,
    action: service.actionOf(request),
    account: key?.caller.account ?? null,
    region: scope?.region ?? null,
    principalArn: null,
    refuse: error => named(service.refuse(request, error, requestId), requestId),
  }
  return { request, requestId, presented, key, service, exchange }
}

async function perform(aws: ImitatedAws, opened: Opened): Promise<HttpAnswer> {
  const { request, requestId, service, exchange } = opened
  const { caller, region } = prove(aws, opened)
  exchange.principalArn = caller.arn
  admit(aws, exchange, service, caller, region)
  const answer = service.perform(request, exchange.action, { caller, region, aws }, requestId)
  await aws.saved()
  return named(answer, requestId)
}

/** Verifies the signature of a request. @returns the caller and the region */
function prove(
  aws: ImitatedAws,
  { request, presented: read, key }: Opened,
): { caller: AwsCaller; region: string } {
  if (!read.ok) throw new AwsError(read.fault.kind, read.fault.message)
  const presented = read.value
  const { region, service } = presented.scope
  if (findAwsService(service) === undefined) {
    throw new AwsError('unknown-action', `No service is scoped as '${service}' here.`)
  }
  if (key === undefined) {
    throw new AwsError('unknown-key', 'The security token included in the request is invalid.')
  }
  const { caller } = key
  const problem =
    verifySignature(request, presented, key, aws.now()) ??
    checkSignedHost(request, presented, caller.partition)
  if (problem !== undefined) throw new AwsError(problem.kind, problem.message)
  return { caller, region }
}

/** Rejects unknown actions, then denied callers, then callers above the action's rate. */
function admit(
  aws: ImitatedAws,
  exchange: ProviderExchange,
  service: ProviderService,
  caller: AwsCaller,
  region: string,
): void {
  const { service: name, action } = exchange
  if (toCanonicalPath(exchange.request.path) !== '/' || !service.has(action))
    throw new AwsError('unknown-action', `Could not find operation ${action}`)
  // No IAM policy can keep a caller from calling GetCallerIdentity (STS API reference).
  const isFree = name === 'sts' && action === 'GetCallerIdentity'
  // An instance's own role has no permission that an administrator could give or take.
  if (!isFree && (caller.kind === 'instance' || isActionDenied(aws, caller, name, action))) {
    throw new AwsError('denied', notAuthorizedText(caller, `${name}:${action}`))
  }
  const call = { service: name, action, account: caller.account, region }
  if (!isWithinRateLimits(aws.arranged.limits, call, aws.now()))
    throw new AwsError('throttled', 'Rate exceeded')
}

const named = (answer: HttpAnswer, requestId: string): HttpAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'x-amzn-requestid': requestId },
})
