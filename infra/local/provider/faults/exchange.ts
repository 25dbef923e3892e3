import { setTimeout as sleep } from 'node:timers/promises'
import type { ImitatedAws } from '../state/imitated-aws.ts'
import { AwsError, awsError } from '../wire/errors.ts'
import type { HttpAnswer, WireOutcome, WireRequest } from '../wire/http.ts'
import {
  holdCall,
  type ProviderFault,
  type ProviderFaultFacts,
  rawFaultAnswer,
  takeProviderFault,
} from './faults.ts'
import { recordNumbered } from './kept.ts'

/** Number of kept calls, of about 2 KB each. */
const KEPT_CALLS = 2000

/**
 * One request to the imitated AWS before its answer, with the facts that faults match and that the log
 * records.
 */
export interface ProviderExchange extends ProviderFaultFacts {
  request: WireRequest
  region: string | null
  /** Set once the signature is verified. */
  principalArn: string | null
  /** Renders an error in the format of the service. */
  refuse(error: AwsError): HttpAnswer
}

/** Answers a request under the arranged faults and logs it. */
export async function answerUnderFault(
  aws: ImitatedAws,
  exchange: ProviderExchange,
  perform: () => Promise<HttpAnswer>,
): Promise<WireOutcome> {
  const at = new Date(aws.now()).toISOString()
  const fault = takeProviderFault(aws.arranged.faults, exchange)
  const outcome = fault === undefined ? await perform() : await strike(aws, fault, exchange, perform)
  const { service, action, account, region, principalArn, request } = exchange
  recordNumbered(aws.arranged.calls, KEPT_CALLS, {
    at,
    service,
    action,
    account,
    region,
    principalArn,
    status: outcome === 'reset' ? 0 : outcome.status,
    headers: headerMap(request),
    query: request.query,
    body: request.body.toString('utf8'),
  })
  return outcome
}

async function strike(
  { arranged }: ImitatedAws,
  fault: ProviderFault,
  exchange: ProviderExchange,
  perform: () => Promise<HttpAnswer>,
): Promise<WireOutcome> {
  const lost = fault.when === 'after' ? await perform() : undefined
  if (fault.delayMs > 0) await sleep(fault.delayMs)
  if (fault.kind === 'hold') await holdCall(arranged.held, fault)
  if (fault.kind === 'delay' || fault.kind === 'hold') return lost ?? perform()
  if (fault.kind === 'reset') return 'reset'
  return fault.kind === 'answer' ? rawFaultAnswer(fault) : exchange.refuse(errorOf(fault))
}

function errorOf({ kind, status, code }: ProviderFault): AwsError {
  if (kind === 'throttle') return new AwsError('throttled', 'Rate exceeded')
  const message = 'We encountered an internal error. Please try again.'
  return status === undefined && code === undefined
    ? new AwsError('internal', message)
    : awsError(status ?? 500, code ?? 'InternalFailure', message)
}

function headerMap(request: WireRequest): Record<string, string> {
  const map = new Map<string, string>()
  for (const [name, value] of request.headers) {
    const before = map.get(name)
    map.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return Object.fromEntries(map)
}
