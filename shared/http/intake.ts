import type { EarlyCall, Operation, RequestFacts } from '../api/call.ts'
import {
  allowByPolicy,
  type Endpoint,
  type EndpointGroup,
  isOpenToAnonymous,
  type PreparedKeys,
  takesOperationToken,
} from '../api/endpoint.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { ParameterError, readParameterFields } from '../api/fields.ts'
import { pathParameterRule } from '../api/params.ts'
import type { Ports } from '../ports.ts'
import { type Key, key } from '../storage/kinds.ts'
import { defined } from '../values/defined.ts'
import { failed, ok, type Result } from '../values/result.ts'
import type { Secret } from '../values/secret.ts'
import { createOperationMiss, type EndpointMatch, matchEndpoint } from './match.ts'
import {
  checkNamespace,
  checkRequestHead,
  findPathFault,
  operationOf,
  readRequestParameters,
  readTokenHeader,
  stripApiVersion,
  wrapTtlOf,
} from './read-request.ts'
import type { HttpRequest } from './request.ts'

/** A request, parsed as far as no storage is needed. */
export interface RequestIntake {
  match: EndpointMatch
  facts: RequestFacts
  token: Secret | undefined
  /** parameters as sent */
  raw: Readonly<Record<string, unknown>>
  parameters: EarlyCall['parameters']
  /** warnings for the response, if it has a body */
  warnings: readonly string[]
  /** `unknownFields`: true if the warnings name unknown fields of a write; in that case the response has a body */
  unknownFields: boolean
  /** `bodyFault`: error of an unreadable body; thrown after the gate has admitted the request */
  bodyFault?: ApiError
  /** `fault`: error of invalid parameters or an invalid proof; thrown after the caller is authorised */
  fault?: ApiError
  /** keys to add to the first read */
  keys: readonly Key[]
  prepared: unknown
  /** `read` replaces the first read */
  read?: PreparedKeys['read']
}

/** Parses a request. @throws ApiError for invalid paths, verbs, namespaces and headers, before anything is read */
export async function readRequestIntake(
  group: EndpointGroup,
  request: HttpRequest,
  id: string,
  ports: Ports,
): Promise<RequestIntake> {
  if (request.fault) throw request.fault
  checkRequestHead(request)
  const fault = findPathFault(request.path)
  if (fault) throw invalidRequestError(fault)
  const path = stripApiVersion(request.path)
  const operation = operationOf(request)
  const matched =
    (await loadEndpointHelp(group, request, path)) ??
    refuseHead(request, matchEndpoint(group, operation, path))
  const found = strictly(matched, request, ports)
  checkLicence(found, ports)
  if (found.kind === 'miss' || !found.endpoint.anyNamespace) checkNamespace(request, path)
  const wrapTtl = isProbe(found) ? undefined : wrapTtlOf(request)
  const facts: RequestFacts = defined({
    id,
    gatewayId: request.gatewayId,
    path: found.path,
    operation: operation ?? 'read',
    source: request.source,
    domain: request.domain,
    deadline: request.deadline,
    wrapTtl,
  })
  const base: RequestIntake = {
    match: found,
    facts,
    token: readTokenHeader(request),
    raw: {},
    parameters: {},
    warnings: [],
    unknownFields: false,
    keys: found.kind === 'miss' || !takesOperationToken(found.endpoint) ? [] : [key('operation-token')],
    prepared: undefined,
  }
  return found.kind === 'miss' ? base : readParameters(base, found, request, operation ?? 'read', ports)
}

/** Finds help if the request asks for it. The function loads the help code on demand. */
export async function loadEndpointHelp(
  group: EndpointGroup,
  request: HttpRequest,
  path: string,
): Promise<EndpointMatch | undefined> {
  const wanted = request.query.some(([name, value]) => name === 'help' && value !== '')
  if (!wanted || request.method !== 'GET') return undefined
  const { findEndpointHelp } = await import('./help.ts')
  return findEndpointHelp(group, path)
}

/** Rejects licensed endpoints without a licence, for every caller. @throws ApiError `not_licensed` */
function checkLicence(found: EndpointMatch, { deployment, clock }: Ports): void {
  const rule = found.kind === 'miss' ? undefined : found.endpoint.licence
  const missing = rule?.(deployment.license, clock.now())
  if (missing)
    throw new ApiError(
      'not_licensed',
      `enterprise-only feature: ${missing}; see the settings license and licensePublicKey of the deployment`,
    )
}

/** Requires a capability of API callers if strict ceremonies are on. IAM has already authorised a direct invocation. */
function strictly(found: EndpointMatch, { gatewayId }: HttpRequest, { deployment }: Ports): EndpointMatch {
  if (found.kind === 'miss' || found.endpoint.access.by !== 'anyone') return found
  const needed = found.endpoint.access.strictly
  if (!needed || !deployment.strictCeremony || gatewayId === '') return found
  return { ...found, endpoint: { ...found.endpoint, access: allowByPolicy(needed) } }
}

// probes send arbitrary headers, and their responses contain nothing to wrap
const isProbe = (found: EndpointMatch): boolean =>
  found.kind === 'endpoint' && found.endpoint.unaudited === true

/** Returns the error for wrapping an anonymous endpoint. Only logins can be wrapped, because otherwise anyone could store data. */
const wrapFault = ({ access, answers }: Endpoint, { wrapTtl }: RequestFacts): ApiError | undefined =>
  wrapTtl === undefined || !isOpenToAnonymous({ access }) || answers === 'auth'
    ? undefined
    : invalidRequestError('X-Vault-Wrap-TTL: without a token only the response of a login can be wrapped')

// HEAD is a separate operation that few endpoints implement.
const refuseHead = (request: HttpRequest, found: EndpointMatch): EndpointMatch =>
  request.method !== 'HEAD' || found.kind === 'miss' || found.endpoint.head
    ? found
    : createOperationMiss(found.endpoint, found.pathParameters, found.path)

async function readParameters(
  base: RequestIntake,
  { endpoint, pathParameters }: { endpoint: Endpoint; pathParameters: Readonly<Record<string, string>> },
  request: HttpRequest,
  operation: Operation,
  ports: Ports,
): Promise<RequestIntake> {
  const body = await settled(() => readRequestParameters(request, operation, endpoint))
  if (!body.ok) return { ...base, bodyFault: body.fault }
  const overridden = Object.keys(body.value).filter(name => Object.hasOwn(pathParameters, name))
  const repeated = Object.keys(pathParameters).flatMap(name => pathParameterRule(name).repeatedAs ?? [])
  const raw = Object.fromEntries(
    Object.entries(body.value).filter(([name]) => !Object.hasOwn(pathParameters, name)),
  )
  const unwrappable = wrapFault(endpoint, base.facts)
  if (unwrappable) return { ...base, raw, fault: unwrappable }
  const parsed = await settled(() => readParameterFields(endpoint.fields, raw))
  if (!parsed.ok) return { ...base, raw, fault: parsed.fault }
  const { parameters } = parsed.value
  const unknown = endpoint.freeForm ? [] : parsed.value.unknown.filter(name => !repeated.includes(name))
  const warnings = [
    ...(overridden.length > 0
      ? [`path parameters replaced these parameters of the body: ${overridden.join(', ')}`]
      : []),
    ...(unknown.length > 0 ? [await warningOf(unknown, endpoint)] : []),
  ]
  const unknownFields = operation === 'write' && unknown.length > 0
  const read = { ...base, raw, parameters, warnings, unknownFields }
  const { prepare } = endpoint
  if (!prepare) return read
  const prepared = await settled(() => prepare({ request: base.facts, pathParameters, parameters, ports }))
  if (!prepared.ok) return { ...read, fault: prepared.fault }
  return { ...read, ...prepared.value, keys: [...base.keys, ...prepared.value.keys] }
}

/** Returns the warning for unknown fields. The function loads the similarity code on demand. */
async function warningOf(unknown: readonly string[], { fields }: Endpoint): Promise<string> {
  const { unknownFieldsWarning } = await import('../api/unknown-fields.ts')
  return unknownFieldsWarning(unknown, fields)
}

/** Runs a parser, and returns the parser's error instead of throwing it. */
async function settled<T>(work: () => T | Promise<T>): Promise<Result<T, ApiError>> {
  try {
    return ok(await work())
  } catch (error) {
    if (error instanceof ParameterError) return failed(invalidRequestError(error.message))
    if (error instanceof ApiError) return failed(error)
    throw error
  }
}
