import { ec2ErrorTable, findStatusAndCode, queryErrorTable } from '../wire/error-tables.ts'
import { awsError } from '../wire/errors.ts'
import { parseFormPairs } from '../wire/form.ts'
import { createTextAnswer, type HttpAnswer, requestHeaderOf, type WireRequest } from '../wire/http.ts'
import { renderXml, type XmlTree } from '../wire/xml.ts'
import type { ServiceProtocol } from './service.ts'

/** Decoded parameters by name. */
export type QueryParams = ReadonlyMap<string, string>

/**
 * The query protocol of STS and IAM. The input is a form or a query string; the output is XML, or JSON of the
 * same nesting if the client requests JSON.
 * @param version the only API version that the service accepts
 * @see https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
 */
export const createQueryProtocol = (
  xmlns: string,
  version: string,
): ServiceProtocol<QueryParams, XmlTree> => ({
  actionOf,
  inputOf: request => versioned(paramsOf(request), version),
  answer: (request, action, result, requestId) => {
    const name = `${action}Response`
    const tree = { [`${action}Result`]: result, ResponseMetadata: { RequestId: requestId } }
    return wantsJson(request)
      ? json(200, { [name]: tree })
      : createTextAnswer(200, 'text/xml', renderXml(name, tree, { xmlns, listItem: 'member' }))
  },
  refuse: (request, error, requestId) => {
    const { status, code, message } = findStatusAndCode(error, queryErrorTable)
    const Type = status < 500 ? 'Sender' : 'Receiver'
    const tree = { Error: { Type, Code: code, Message: message }, RequestId: requestId }
    return wantsJson(request)
      ? json(status, tree)
      : createTextAnswer(status, 'text/xml', renderXml('ErrorResponse', tree, { xmlns, listItem: 'member' }))
  },
})

/** The protocol of STS. */
export const stsProtocol = createQueryProtocol('https://sts.amazonaws.com/doc/2011-06-15/', '2011-06-15')

const ec2Namespace = 'http://ec2.amazonaws.com/doc/2016-11-15/'
const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
const ec2Xml = (status: number, root: string, tree: XmlTree): HttpAnswer => {
  const xml = renderXml(root, tree, { xmlns: ec2Namespace, listItem: 'item' })
  return createTextAnswer(status, 'text/xml;charset=UTF-8', declaration + xml)
}

/**
 * EC2's variant of the query protocol: no result element, lists of `item`, errors in a different envelope.
 * @see https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html
 */
export const ec2Protocol: ServiceProtocol<QueryParams, { [name: string]: XmlTree }> = {
  actionOf,
  inputOf: paramsOf,
  answer: (_request, action, result, requestId) => ec2Xml(200, `${action}Response`, { requestId, ...result }),
  refuse: (_request, error, requestId) => {
    const { status, code, message } = findStatusAndCode(error, ec2ErrorTable)
    const tree = { Errors: { Error: { Code: code, Message: message } }, RequestID: requestId }
    return ec2Xml(status, 'Response', tree)
  },
}

/** Returns a required parameter. @throws AwsError if the parameter is missing */
export function requiredParam(params: QueryParams, name: string): string {
  const value = params.get(name)
  if (value) return value
  throw awsError(400, 'MissingParameter', `The request must contain the parameter ${name}`)
}

/** Returns an optional parameter; an empty parameter counts as absent. */
export const optionalParam = (params: QueryParams, name: string): string | undefined =>
  params.get(name) || undefined

function actionOf(request: WireRequest): string {
  const action = pairsOf(request).find(([name]) => name === 'Action')
  return action?.[1] ?? ''
}

function paramsOf(request: WireRequest): QueryParams {
  const pairs = pairsOf(request)
  const params = new Map(pairs)
  // Parsers disagree on repeated parameter names, so a request with a repeated name is rejected.
  if (params.size < pairs.length) throw awsError(400, 'MalformedQueryString', 'A parameter is given twice.')
  return params
}

function versioned(params: QueryParams, version: string): QueryParams {
  const given = params.get('Version') ?? 'NO_VERSION_SPECIFIED'
  if (given === version) return params
  const action = params.get('Action')
  throw awsError(400, 'InvalidAction', `Could not find operation ${action} for version ${given}`)
}

/**
 * Returns the parameters of a request. Malformed escapes count as no parameters, because the signature check
 * has already rejected a query with such escapes.
 */
const pairsOf = (request: WireRequest) => [
  ...(parseFormPairs(request.query) ?? []),
  ...(isForm(request) ? (parseFormPairs(request.body.toString('utf8')) ?? []) : []),
]

const isForm = (request: WireRequest): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(requestHeaderOf(request, 'content-type') ?? '')

const wantsJson = (request: WireRequest): boolean =>
  (requestHeaderOf(request, 'accept') ?? '').includes('application/json')

const json = (status: number, tree: XmlTree): HttpAnswer =>
  createTextAnswer(status, 'application/json', JSON.stringify(tree))
