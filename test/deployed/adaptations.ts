import { isDeepStrictEqual } from 'node:util'

/*
 * The differences between the deployment that `npm run test:deployed` tries and a deployment on AWS. The emulated
 * account lacks features of AWS; nothing is adapted because of a defect of cloud-auth. A test of each row fails when
 * the emulator no longer needs the row (test/deployed/adaptations.test.ts).
 */

interface Row {
  /** what is different */
  what: string
  /** why the emulator needs the difference */
  why: string
  /** the resources or the answers that differ */
  resources: string
}

/** Differences of the emulator. `test/deployed/emulator/start.py` applies them. */
export const emulatorAdaptations = {
  'runtime-client': {
    what: "AWS's runtime client for Node runs the functions",
    why: "the emulator's own Node worker splits objects that a function logs into lines",
    resources: 'AWS::Lambda::Function',
  },
  'json-patterns': {
    what: 'patterns of the form { $.a.b = "*" } select log events by their JSON members',
    why: 'the emulator searches for the words of a pattern in the log event',
    resources: 'AWS::Logs::SubscriptionFilter',
  },
  names: {
    what: 'functions resolve names below .test to loopback',
    why: 'the addresses of clusters have no DNS entries, and clusters refuse loopback addresses of other clusters',
    resources: 'AWS::Lambda::Function',
  },
  'function-roles': {
    what: 'functions have the credentials of their roles',
    why: 'the emulator gives functions the credentials of the account unless it decides by IAM policies',
    resources: 'AWS::Lambda::Function',
  },
  instances: {
    what: 'CloudFormation creates instances; the test runs their start script',
    why: 'the emulator knows no resource of this type, and its EC2 runs no program in an instance',
    resources: 'AWS::EC2::Instance',
  },
  'arm-image': {
    what: 'the public parameter with the image of Amazon Linux for Arm has a value',
    why: 'the emulator has this parameter only for other processors',
    resources: 'AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>',
  },
} as const satisfies Record<string, Row>

export type EmulatorAdaptationName = keyof typeof emulatorAdaptations
export const emulatorAdaptationNames = Object.keys(emulatorAdaptations) as EmulatorAdaptationName[]

/** A resource of a CloudFormation template. */
export interface TemplateResource {
  Type: string
  Properties?: Record<string, unknown>
  DependsOn?: string | string[]
}

export type Resources = Record<string, TemplateResource>

/** The members of a template that the adaptations read. All other members stay as they are. */
export interface AdaptableTemplate {
  Resources: Resources
}

interface TemplateRow extends Row {
  /** reports whether the row adapts a resource */
  concerns(resource: TemplateResource): boolean
  /** returns the resources that replace a resource; no resources: the resource is left out */
  replace(id: string, resource: TemplateResource): Resources
}

const withoutResource = (): Resources => ({})

/** Differences of the templates, by name. */
export const templateAdaptations = {
  queries: {
    what: 'saved queries are left out',
    why: 'the emulator knows no resource of this type',
    resources: 'AWS::Logs::QueryDefinition',
    concerns: ({ Type }) => Type === 'AWS::Logs::QueryDefinition',
    replace: withoutResource,
  },
  'metric-math': {
    what: 'alarms on the sum of several metrics are left out',
    why: 'the emulator refuses the property Metrics',
    resources: 'AWS::CloudWatch::Alarm with Metrics',
    concerns: ({ Type, Properties }) =>
      Type === 'AWS::CloudWatch::Alarm' && Properties?.['Metrics'] !== undefined,
    replace: withoutResource,
  },
  definitions: {
    what: 'routes and integrations are resources of their own, one for each path of the OpenAPI definition',
    why: 'the emulator ignores the property Body',
    resources: 'AWS::ApiGatewayV2::Api with Body',
    concerns: ({ Type, Properties }) =>
      Type === 'AWS::ApiGatewayV2::Api' && Properties?.['Body'] !== undefined,
    replace: expandDefinition,
  },
  'any-methods': {
    what: 'the OpenAPI definition names each method of a path',
    why: 'the emulator ignores x-amazon-apigateway-any-method in the definition of a REST API',
    resources: 'AWS::ApiGateway::RestApi with Body',
    concerns: ({ Type, Properties }) =>
      Type === 'AWS::ApiGateway::RestApi' && Properties?.['Body'] !== undefined,
    replace: nameMethods,
  },
} as const satisfies Record<string, TemplateRow>

/** Operation of all methods of a path. */
const ANY = 'x-amazon-apigateway-any-method'

/** The parts of an API's OpenAPI definition that its routes need. */
interface ApiDefinition {
  info: { title: string }
  paths: Record<string, { [ANY]: AnyMethod }>
  components: { 'x-amazon-apigateway-integrations': Record<string, DefinedIntegration> }
}

interface AnyMethod {
  isDefaultRoute?: boolean
  'x-amazon-apigateway-integration': { $ref: string }
}

interface DefinedIntegration {
  type: string
  httpMethod: string
  payloadFormatVersion: string
  uri: unknown
}

/** Returns an HTTP API with a route for each path of its definition, as API Gateway imports the definition. */
function expandDefinition(id: string, api: TemplateResource): Resources {
  const {
    Body: body,
    FailOnWarnings: _,
    ...properties
  } = api.Properties as { Body: ApiDefinition } & object & {
      FailOnWarnings?: boolean
    }
  const ApiId = { Ref: id }
  const idOf = (name: string) => `${id}Integration${name.replace(/\W/g, '')}`
  const integrations = Object.entries(body.components['x-amazon-apigateway-integrations']).map(
    ([name, { type, httpMethod, payloadFormatVersion, uri }]): [string, TemplateResource] => [
      idOf(name),
      {
        Type: 'AWS::ApiGatewayV2::Integration',
        Properties: {
          ApiId,
          IntegrationType: type.toUpperCase(),
          IntegrationMethod: httpMethod,
          PayloadFormatVersion: payloadFormatVersion,
          IntegrationUri: uri,
        },
      },
    ],
  )
  const routes = Object.entries(body.paths).map(([path, item], index): [string, TemplateResource] => {
    const { isDefaultRoute, ...method } = item[ANY]
    const name = method['x-amazon-apigateway-integration'].$ref.split('/').at(-1) ?? ''
    const Target = { 'Fn::Join': ['', ['integrations/', { Ref: idOf(name) }]] }
    const RouteKey = isDefaultRoute ? '$default' : `ANY ${path}`
    return [
      `${id}Route${index}`,
      { Type: 'AWS::ApiGatewayV2::Route', Properties: { ApiId, RouteKey, Target } },
    ]
  })
  const named = { ...properties, Name: body.info.title, ProtocolType: 'HTTP' }
  return { [id]: { ...api, Properties: named }, ...Object.fromEntries([...integrations, ...routes]) }
}

const METHODS = ['get', 'post', 'put', 'delete', 'patch', 'head', 'options']

/** Returns a REST API whose definition has an operation for each method of a path. */
function nameMethods(id: string, api: TemplateResource): Resources {
  const { Body, ...properties } = api.Properties as { Body: Pick<ApiDefinition, 'paths'> } & object
  const paths = Object.entries(Body.paths).map(([path, { [ANY]: operation }]) => [
    path,
    Object.fromEntries(METHODS.map(method => [method, operation])),
  ])
  return {
    [id]: { ...api, Properties: { ...properties, Body: { ...Body, paths: Object.fromEntries(paths) } } },
  }
}

/** Returns a template's resources without dependencies on resources that are left out. */
function withoutDangling(resources: Resources): Resources {
  const exists = (id: string) => resources[id] !== undefined
  return Object.fromEntries(
    Object.entries(resources).map(([id, resource]) => {
      const { DependsOn: after, ...rest } = resource
      if (after === undefined || [after].flat().every(exists)) return [id, resource]
      const left = [after].flat().filter(exists)
      return [id, left.length > 0 ? { ...rest, DependsOn: left } : rest]
    }),
  )
}

/** Returns a template as the emulator accepts it. */
export function adaptTemplate<T extends AdaptableTemplate>(template: T): T {
  const rows: readonly TemplateRow[] = Object.values(templateAdaptations)
  const adapted = Object.entries(template.Resources).map(([id, resource]): Resources => {
    const row = rows.find(one => one.concerns(resource))
    return row ? row.replace(id, resource) : { [id]: resource }
  })
  return { ...template, Resources: withoutDangling(Object.assign({}, ...adapted)) }
}

/** A resource that differs between two templates. */
export interface ResourceDifference {
  id: string
  released: TemplateResource | undefined
  tested: TemplateResource | undefined
}

/** Returns the resources that differ between the released and the tested template. */
export function compareTemplates(
  released: AdaptableTemplate,
  tested: AdaptableTemplate,
): ResourceDifference[] {
  const ids = new Set([...Object.keys(released.Resources), ...Object.keys(tested.Resources)])
  return [...ids]
    .map(id => ({ id, released: released.Resources[id], tested: tested.Resources[id] }))
    .filter(one => !isDeepStrictEqual(one.released, one.tested))
}
