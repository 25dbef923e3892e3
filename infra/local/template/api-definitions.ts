import * as v from 'valibot'
import { linkPath } from '../../../shared/link/routes.ts'
import type { ResolvedCfnResource } from './resolve.ts'

const INTEGRATIONS = '#/components/x-amazon-apigateway-integrations/'

/** The address by which an API invokes a function. */
export const functionUri = v.pipe(v.string(), v.regex(/:function:[\w-]+\/invocations$/))
const shared = v.strictObject({
  type: v.literal('aws_proxy'),
  httpMethod: v.literal('POST'),
  payloadFormatVersion: v.literal('2.0'),
  uri: functionUri,
})
const operation = v.strictObject({
  isDefaultRoute: v.optional(v.literal(true)),
  parameters: v.optional(v.array(v.unknown())),
  responses: v.unknown(),
  'x-amazon-apigateway-integration': v.strictObject({
    $ref: v.pipe(v.string(), v.startsWith(INTEGRATIONS)),
  }),
})

/**
 * The part of an HTTP API's definition that this host supports. This host has no default endpoint to close.
 */
const httpApi = v.strictObject({
  Body: v.strictObject({
    openapi: v.string(),
    info: v.unknown(),
    servers: v.optional(v.array(v.unknown())),
    paths: v.record(v.string(), v.strictObject({ 'x-amazon-apigateway-any-method': operation })),
    components: v.strictObject({
      'x-amazon-apigateway-integrations': v.record(v.string(), shared),
    }),
  }),
  FailOnWarnings: v.optional(v.boolean()),
})

/** A route to a function: a verb and a path, or `$default`. */
export interface ApiRoute {
  key: string
  functionName: string
}

/** Reads the properties of a resource by a schema. @throws Error that names what the host does not support */
export function readAs<T extends v.GenericSchema>(schema: T, properties: unknown): v.InferOutput<T> {
  const read = v.safeParse(schema, properties)
  if (read.success) return read.output
  const [fault] = read.issues
  throw new Error(
    `the embedded host does not support the API's definition: ${v.getDotPath(fault)}: ${fault.message}`,
  )
}

/** Returns the name of the function from the address by which an API invokes the function. */
export const functionIn = (text: string): string => /:function:([\w-]+)\/invocations$/.exec(text)?.[1] ?? ''

/**
 * Returns the routes of an HTTP API from the properties of its resource. @throws Error that names what the host does
 * not support
 */
function httpApiRoutesIn(properties: unknown): ApiRoute[] {
  const { paths, components } = readAs(httpApi, properties).Body
  const integrations = components['x-amazon-apigateway-integrations']
  return Object.entries(paths).map(([path, { 'x-amazon-apigateway-any-method': served }]) => {
    const { $ref } = served['x-amazon-apigateway-integration']
    const found = integrations[$ref.slice(INTEGRATIONS.length)]?.uri
    if (found === undefined) throw new Error(`the API's definition has no integration ${$ref}`)
    return { key: served.isDefaultRoute ? '$default' : `ANY ${path}`, functionName: functionIn(found) }
  })
}

/** Returns the routes of the API for clients and, if separate, of the API for other clusters. */
export function findFrontsIn(ofType: (type: string) => ResolvedCfnResource[]): {
  clients: ApiRoute[]
  link?: ApiRoute[]
} {
  const apis = ofType('AWS::ApiGatewayV2::Api').map(({ properties }) => httpApiRoutesIn(properties))
  const clients = apis.find(isForClients) ?? []
  const link = apis.find(one => one !== clients && !isForClients(one))
  return { clients, ...(link && { link }) }
}

/** Reports whether an API serves clients. An API for other clusters has only the link's route. */
const isForClients = (routes: readonly ApiRoute[]): boolean =>
  routes.some(({ key }) => !key.startsWith(`ANY ${linkPath}`))
