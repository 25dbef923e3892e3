import * as v from 'valibot'

const INTEGRATIONS = '#/components/x-amazon-apigateway-integrations/'

const integration = v.strictObject({
  type: v.literal('aws_proxy'),
  httpMethod: v.literal('POST'),
  payloadFormatVersion: v.literal('2.0'),
  uri: v.pipe(v.string(), v.regex(/:function:[\w-]+\/invocations$/)),
})
const operation = v.strictObject({
  isDefaultRoute: v.optional(v.literal(true)),
  parameters: v.optional(v.array(v.unknown())),
  responses: v.unknown(),
  'x-amazon-apigateway-integration': v.strictObject({
    $ref: v.pipe(v.string(), v.startsWith(INTEGRATIONS)),
  }),
})

/** The part of an API's definition that this host can honour; it has no default endpoint that could be closed. */
const definition = v.strictObject({
  openapi: v.string(),
  info: v.unknown(),
  servers: v.optional(v.array(v.unknown())),
  paths: v.record(v.string(), v.strictObject({ 'x-amazon-apigateway-any-method': operation })),
  components: v.strictObject({
    'x-amazon-apigateway-integrations': v.record(v.string(), integration),
  }),
})

/**
 * The routes of an API, from the properties of its resource.
 * @throws Error naming what the host cannot honour
 */
export function routesIn(properties: unknown): { key: string; functionName: string }[] {
  const api = v.strictObject({ Body: definition, FailOnWarnings: v.optional(v.boolean()) })
  const read = v.safeParse(api, properties)
  if (!read.success) {
    const [fault] = read.issues
    throw new Error(
      `the embedded host cannot honour the API's definition: ${v.getDotPath(fault)}: ${fault.message}`,
    )
  }
  const { paths, components } = read.output.Body
  const integrations = components['x-amazon-apigateway-integrations']
  return Object.entries(paths).map(([path, { 'x-amazon-apigateway-any-method': any }]) => {
    const { $ref } = any['x-amazon-apigateway-integration']
    const uri = integrations[$ref.slice(INTEGRATIONS.length)]?.uri
    if (uri === undefined) throw new Error(`the API's definition has no integration ${$ref}`)
    return {
      key: any.isDefaultRoute ? '$default' : `ANY ${path}`,
      functionName: /:function:([\w-]+)\/invocations$/.exec(uri)?.[1] ?? '',
    }
  })
}
