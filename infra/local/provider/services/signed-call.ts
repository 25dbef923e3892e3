import { randomUUID } from 'node:crypto'
import { answerUnderDrill, type Exchange } from '../drills/exchange.ts'
import { admits } from '../drills/limits.ts'
import { type Caller, type KnownKey, lookUpKey } from '../identity/callers.ts'
import { isDenied, notAuthorized } from '../identity/permissions.ts'
import { canonicalPath } from '../signing/canonical.ts'
import { type Claim, readClaim } from '../signing/claim.ts'
import { checkHost } from '../signing/host-rule.ts'
import { verifySignature } from '../signing/sigv4.ts'
import type { World } from '../state/world.ts'
import type { HttpAnswer, HttpRequest, Outcome } from '../wire/http.ts'
import { AwsError, type Refusal } from '../wire/trouble.ts'
import { findService, guessService } from './all.ts'
import type { Service } from './service.ts'

/** A request with whatever could be found out before anything of it is believed. */
interface Opened {
  request: HttpRequest
  requestId: string
  claim: Claim | Refusal
  key: KnownKey | undefined
  service: Service
  exchange: Exchange
}

/** Answers a request to one of the services: who signs, may they, then the action itself. */
export function answerSignedCall(world: World, request: HttpRequest): Promise<Outcome> {
  const opened = open(world, request)
  return answerUnderDrill(world, opened.exchange, async () => {
    try {
      return await perform(world, opened)
    } catch (error) {
      return opened.exchange.refuse(
        error instanceof AwsError ? error : new AwsError('internal', String(error)),
      )
    }
  })
}

function open(world: World, request: HttpRequest): Opened {
  const requestId = randomUUID()
  const claim = readClaim(request)
  const scope = 'scope' in claim ? claim.scope : undefined
  const key = 'scope' in claim ? lookUpKey(world, claim) : undefined
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
  return { request, requestId, claim, key, service, exchange }
}

async function perform(world: World, opened: Opened): Promise<HttpAnswer> {
  const { request, requestId, service, exchange } = opened
  const { caller, region } = prove(world, opened)
  exchange.principalArn = caller.arn
  admit(world, exchange, service, caller, region)
  const answer = service.perform(request, exchange.action, { caller, region, world }, requestId)
  await world.saved()
  return named(answer, requestId)
}

/** The caller and the region, once the signature holds. */
function prove(world: World, { request, claim, key }: Opened): { caller: Caller; region: string } {
  if (!('scope' in claim)) throw new AwsError(claim.trouble, claim.message)
  const { region, service } = claim.scope
  if (findService(service) === undefined) {
    throw new AwsError('unknown-action', `No service is scoped as '${service}' here.`)
  }
  if (key === undefined) {
    throw new AwsError('unknown-key', 'The security token included in the request is invalid.')
  }
  const { caller } = key
  const problem =
    verifySignature(request, claim, key, world.now()) ?? checkHost(request, claim, caller.partition)
  if (problem !== undefined) throw new AwsError(problem.trouble, problem.message)
  return { caller, region }
}

/** Refuses unknown actions, then callers who were denied the action, then those above its rate. */
function admit(world: World, exchange: Exchange, service: Service, caller: Caller, region: string): void {
  const { service: name, action } = exchange
  const atRoot = canonicalPath(exchange.request.path) === '/'
  if (!atRoot || !service.has(action)) {
    throw new AwsError('unknown-action', `Could not find operation ${action}`)
  }
  // No policy can keep a caller from learning who it is (GetCallerIdentity, STS API reference).
  if (action !== 'GetCallerIdentity' && isDenied(world, caller, name, action)) {
    throw new AwsError('denied', notAuthorized(caller, `${name}:${action}`))
  }
  const call = { service: name, action, account: caller.account, region }
  if (!admits(world.drills.limits, call, world.now())) throw new AwsError('throttled', 'Rate exceeded')
}

const named = (answer: HttpAnswer, requestId: string): HttpAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'x-amzn-requestid': requestId },
})
