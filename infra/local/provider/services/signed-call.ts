import { randomUUID } from 'node:crypto'
import { answerUnderFault, type Exchange } from '../faults/exchange.ts'
import { isWithinLimits } from '../faults/limits.ts'
import { type AwsCaller, type CallerKey, lookUpKey } from '../identity/callers.ts'
import { isDenied, notAuthorized } from '../identity/permissions.ts'
import { canonicalPath } from '../signing/canonical.ts'
import { checkHost } from '../signing/host-rule.ts'
import { readSignature } from '../signing/presented-signature.ts'
import { verifySignature } from '../signing/sigv4.ts'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { AwsError } from '../wire/errors.ts'
import type { HttpAnswer, WireOutcome, WireRequest } from '../wire/http.ts'
import { findService, guessService } from './all.ts'
import type { ProviderService } from './service.ts'

/** A request with the facts known before its signature is verified. */
interface Opened {
  request: WireRequest
  requestId: string
  presented: ReturnType<typeof readSignature>
  key: CallerKey | undefined
  service: ProviderService
  exchange: Exchange
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
  const presented = readSignature(request)
  const scope = presented.ok ? presented.value.scope : undefined
  const key = presented.ok ? lookUpKey(aws, presented.value) : undefined
  const [name, service] = findService(scope?.service) ?? guessService(request)
  const exchange: Exchange = {
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

/** Verifies the signature. @returns the caller and the region */
function prove(
  aws: ImitatedAws,
  { request, presented: read, key }: Opened,
): { caller: AwsCaller; region: string } {
  if (!read.ok) throw new AwsError(read.fault.kind, read.fault.message)
  const presented = read.value
  const { region, service } = presented.scope
  if (findService(service) === undefined) {
    throw new AwsError('unknown-action', `No service is scoped as '${service}' here.`)
  }
  if (key === undefined) {
    throw new AwsError('unknown-key', 'The security token included in the request is invalid.')
  }
  const { caller } = key
  const problem =
    verifySignature(request, presented, key, aws.now()) ?? checkHost(request, presented, caller.partition)
  if (problem !== undefined) throw new AwsError(problem.kind, problem.message)
  return { caller, region }
}

/** Rejects unknown actions, then denied callers, then callers above the action's rate. */
function admit(
  aws: ImitatedAws,
  exchange: Exchange,
  service: ProviderService,
  caller: AwsCaller,
  region: string,
): void {
  const { service: name, action } = exchange
  if (canonicalPath(exchange.request.path) !== '/' || !service.has(action))
    throw new AwsError('unknown-action', `Could not find operation ${action}`)
  // No policy can keep a caller from learning who it is (GetCallerIdentity, STS API reference).
  if (action !== 'GetCallerIdentity' && isDenied(aws, caller, name, action)) {
    throw new AwsError('denied', notAuthorized(caller, `${name}:${action}`))
  }
  const call = { service: name, action, account: caller.account, region }
  if (!isWithinLimits(aws.arranged.limits, call, aws.now())) throw new AwsError('throttled', 'Rate exceeded')
}

const named = (answer: HttpAnswer, requestId: string): HttpAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'x-amzn-requestid': requestId },
})
