import { readFileSync } from 'node:fs'
import type { StreamViewType } from '@aws-sdk/client-dynamodb'
import * as v from 'valibot'
import { defined } from '../../../shared/values/defined.ts'
import { type ApiRoute, findFrontsIn } from './api-definitions.ts'
import {
  type CfnResource,
  type CfnTemplate,
  createTemplateResolver,
  type ResolvedCfnResource,
  type StackTemplatesByName,
} from './resolve.ts'

/** The parts of a cluster that the host runs, read from the synthesised templates. */
export interface AssemblyModel {
  tables: TableModel[]
  functions: FunctionModel[]
  /** routes of the API for clients */
  clients: ApiRoute[]
  /** routes of the API for other clusters; absent: other clusters call the API for clients */
  link?: ApiRoute[]
  schedules: { name: string; minutes: number; functionName: string }[]
  streams: StreamModel[]
  /** rules that send events of EC2 to functions */
  rules: EventRuleModel[]
  machines: { arn: string; definition: unknown }[]
}

export interface TableModel {
  name: string
  keySchema: unknown
  attributes: unknown
  indexes: { IndexName: string; KeySchema: unknown; Projection: unknown }[]
  /** TTL attribute */
  ttl?: string
  /** view type of the table's stream, if a function reads the stream */
  stream?: StreamViewType
}

/** A rule of the default event bus. */
export interface EventRuleModel {
  pattern: unknown
  functionName: string
}

/** A function that is invoked for changes of a table. */
export interface StreamModel {
  table: string
  functionName: string
  batchSize: number
  /** halves failing batches */
  bisect: boolean
  retries: number
  /** patterns, of which one must match */
  filters: unknown[]
}

export interface FunctionModel {
  name: string
  /** folder in functions/ */
  folder: string
  /** directory of the bundle */
  code: string
  handler: string
  timeoutSeconds: number
  environment: Record<string, string>
}

/** Account and region that the host pretends to run in. */
export interface LocalHostPlace {
  account: string
  region: string
  /** prefix of table names, if several clusters share an engine */
  tablePrefix?: string
  /** directory of bundles by folder, if the assembly has no bundles */
  bundles?: string
}

/**
 * Resources that this host ignores, because only AWS can enforce them, or because they move audit entries
 * that this host does not print.
 */
const IGNORED = [
  'AWS::ApiGateway::Deployment',
  'AWS::ApiGatewayV2::ApiMapping',
  'AWS::ApiGatewayV2::DomainName',
  'AWS::ApiGatewayV2::Stage',
  'AWS::CloudWatch::Alarm',
  'AWS::CloudWatch::Dashboard',
  'AWS::EC2::SecurityGroup',
  'AWS::ElasticLoadBalancingV2::LoadBalancer',
  'AWS::IAM::Policy',
  'AWS::IAM::Role',
  'AWS::Lambda::EventInvokeConfig',
  'AWS::Lambda::Permission',
  'AWS::Logs::LogGroup',
  'AWS::Logs::MetricFilter',
  'AWS::Logs::QueryDefinition',
  'AWS::Logs::SubscriptionFilter',
  'AWS::Route53::RecordSet',
  'AWS::SQS::Queue',
]
const HONOURED = [
  'AWS::ApiGateway::RestApi',
  'AWS::ApiGateway::Stage',
  'AWS::ApiGatewayV2::Api',
  'AWS::DynamoDB::GlobalTable',
  'AWS::ElasticLoadBalancingV2::Listener',
  'AWS::ElasticLoadBalancingV2::ListenerRule',
  'AWS::ElasticLoadBalancingV2::TargetGroup',
  'AWS::Events::Rule',
  'AWS::KMS::Key',
  'AWS::Lambda::EventSourceMapping',
  'AWS::Lambda::Function',
  'AWS::StepFunctions::StateMachine',
]

/** Reads the resources of a cloud assembly, with references in their properties resolved. */
export function readResourcesIn(directory: string, place: LocalHostPlace) {
  const { stacks, assets } = readStacks(directory, place)
  const names = namesOf(place, stacks)
  const resolve = createTemplateResolver(stacks, names)
  const all = Object.entries(stacks).flatMap(([stack, template]) =>
    Object.entries(template.Resources).map(([id, resource]) => ({ stack, id, resource })),
  )
  return {
    all,
    ofType: (type: string): ResolvedCfnResource[] =>
      all
        .filter(({ resource }) => resource.Type === type)
        .map(({ stack, id, resource }) => ({
          stack,
          id,
          properties: resolve(stack, resource.Properties ?? {}) as Record<string, unknown>,
        })),
    nameOf: names.ref,
    arnOf: (stack: string, id: string): string => names.attribute(stack, id, 'Arn'),
    /** returns the code asset of a function */
    assetOf: ({ stack, id, properties: { Code } }: ResolvedCfnResource): Asset => {
      const { S3Key } = Code as { S3Key: string }
      const asset = assets.get(S3Key.replace(/\.zip$/, ''))
      if (!asset) throw new Error(`the code of ${names.ref(stack, id)} is not in the assembly`)
      return asset
    },
  }
}

/** The resources of an assembly. */
export type AssemblyResources = ReturnType<typeof readResourcesIn>

/**
 * Reads a cloud assembly. An unsupported resource is an error, because ignoring it would hide a difference to AWS.
 * @param directory output directory of `app.synth()`
 */
export function readAssembly(directory: string, place: LocalHostPlace): AssemblyModel {
  const { all, ofType, nameOf, arnOf, assetOf } = readResourcesIn(directory, place)
  const unknown = all.find(
    ({ resource }) => !HONOURED.includes(resource.Type) && !IGNORED.includes(resource.Type),
  )
  if (unknown)
    throw new Error(
      `the embedded host does not support ${unknown.resource.Type} (${unknown.stack}/${unknown.id})`,
    )
  const streams = ofType('AWS::Lambda::EventSourceMapping').map(streamOf)
  return {
    tables: ofType('AWS::DynamoDB::GlobalTable').map(table =>
      tableOf(table, nameOf(table.stack, table.id), streams),
    ),
    functions: ofType('AWS::Lambda::Function').map(one =>
      functionOf(one, nameOf(one.stack, one.id), assetOf(one)),
    ),
    ...findFrontsIn(ofType),
    schedules: ofType('AWS::Events::Rule').flatMap(scheduleOf),
    rules: ofType('AWS::Events::Rule').flatMap(rulesOf),
    streams,
    machines: ofType('AWS::StepFunctions::StateMachine').map(({ stack, id, properties }) => ({
      arn: arnOf(stack, id),
      definition: properties['Definition'],
    })),
  }
}

function readStacks(
  directory: string,
  { bundles }: Pick<LocalHostPlace, 'bundles'>,
): { stacks: StackTemplatesByName; assets: ReadonlyMap<string, Asset> } {
  const read = (file: string): unknown => JSON.parse(readFileSync(`${directory}/${file}`, 'utf8'))
  const manifest = read('manifest.json') as {
    artifacts: Record<string, { type: string; properties?: { templateFile?: string; file?: string } }>
  }
  const stacks: Record<string, CfnTemplate> = {}
  const assets = new Map<string, Asset>()
  for (const [name, { type, properties }] of Object.entries(manifest.artifacts)) {
    if (type === 'aws:cloudformation:stack' && properties?.templateFile)
      stacks[name] = read(properties.templateFile) as CfnTemplate
    if (type !== 'cdk:asset-manifest' || !properties?.file) continue
    const { files } = read(properties.file) as {
      files: Record<string, { displayName: string; source: { path: string } }>
    }
    for (const [hash, file] of Object.entries(files)) {
      const folder = file.displayName.split('/')[0] ?? ''
      const path = bundles === undefined ? `${directory}/${file.source.path}` : `${bundles}/${folder}`
      assets.set(hash, { path, folder })
    }
  }
  return { stacks, assets }
}

interface Asset {
  path: string
  /** construct id of the function, which is the name of the function's folder */
  folder: string
}

/** Attributes of resources that are dimensions of metrics. */
const NAMES = ['LoadBalancerFullName', 'QueueName']

function namesOf({ account, region, tablePrefix = '' }: LocalHostPlace, stacks: StackTemplatesByName) {
  const resource = (stack: string, id: string): CfnResource | undefined => stacks[stack]?.Resources[id]
  const ref = (stack: string, id: string): string => {
    const { FunctionName, StateMachineName, StageName } = resource(stack, id)?.Properties ?? {}
    const given = FunctionName ?? StateMachineName ?? StageName
    const prefix = resource(stack, id)?.Type === 'AWS::DynamoDB::GlobalTable' ? tablePrefix : ''
    return typeof given === 'string' ? given : `${prefix}${stack}-${id}`
  }
  const services: Record<string, (name: string) => string> = {
    'AWS::DynamoDB::GlobalTable': name => `arn:aws:dynamodb:${region}:${account}:table/${name}`,
    'AWS::Lambda::Function': name => `arn:aws:lambda:${region}:${account}:function:${name}`,
    'AWS::KMS::Key': name => `arn:aws:kms:${region}:${account}:key/${name}`,
    'AWS::StepFunctions::StateMachine': name => `arn:aws:states:${region}:${account}:stateMachine:${name}`,
  }
  const attribute = (stack: string, id: string, name: string): string => {
    const type = resource(stack, id)?.Type ?? ''
    if (name === 'StreamArn') return `${attribute(stack, id, 'Arn')}/stream/latest`
    if (NAMES.includes(name)) return ref(stack, id)
    return name === 'Arn'
      ? (services[type]?.(ref(stack, id)) ?? `arn:aws:none:${region}:${account}:${ref(stack, id)}`)
      : ''
  }
  const pseudo = {
    'AWS::AccountId': account,
    'AWS::Region': region,
    'AWS::Partition': 'aws',
    'AWS::URLSuffix': 'amazonaws.com',
  }
  return { pseudo, ref, attribute }
}

const functionNameIn = (arn: unknown): string => String(arn).split(':').at(-1) ?? ''

function tableOf(
  { properties }: ResolvedCfnResource,
  name: string,
  streams: readonly StreamModel[],
): TableModel {
  const ttl = properties['TimeToLiveSpecification'] as { AttributeName?: string } | undefined
  const stream = properties['StreamSpecification'] as { StreamViewType?: StreamViewType } | undefined
  return defined({
    name,
    keySchema: properties['KeySchema'],
    attributes: properties['AttributeDefinitions'],
    indexes: (properties['GlobalSecondaryIndexes'] ?? []) as TableModel['indexes'],
    ttl: ttl?.AttributeName || undefined,
    // a stream without readers would only cost time
    stream: streams.some(({ table }) => table === name) ? stream?.StreamViewType : undefined,
  })
}

function functionOf({ properties }: ResolvedCfnResource, name: string, asset: Asset): FunctionModel {
  const { Variables = {} } = (properties['Environment'] ?? {}) as { Variables?: Record<string, string> }
  return {
    name,
    folder: asset.folder,
    code: asset.path,
    handler: String(properties['Handler']),
    timeoutSeconds: Number(properties['Timeout'] ?? 3),
    environment: Variables,
  }
}

const mapping = v.strictObject({
  EventSourceArn: v.pipe(v.string(), v.regex(/:table\/[\w.-]+\/stream\//)),
  FunctionName: v.string(),
  StartingPosition: v.literal('LATEST'),
  BatchSize: v.number(),
  BisectBatchOnFunctionError: v.optional(v.boolean(), false),
  MaximumRetryAttempts: v.number(),
  // destination to which AWS sends records that a function failed to process; this host logs these records
  DestinationConfig: v.optional(v.unknown()),
  // tags that change when a table is replaced; only CloudFormation needs them
  Tags: v.optional(v.unknown()),
  FilterCriteria: v.optional(v.strictObject({ Filters: v.array(v.strictObject({ Pattern: v.string() })) })),
})

function streamOf({ properties }: ResolvedCfnResource): StreamModel {
  const read = v.safeParse(mapping, properties)
  if (!read.success) {
    const [fault] = read.issues
    throw new Error(
      `the embedded host does not support this event source: ${v.getDotPath(fault)}: ${fault.message}`,
    )
  }
  const { EventSourceArn, FunctionName, BatchSize, BisectBatchOnFunctionError, MaximumRetryAttempts } =
    read.output
  return {
    table: /:table\/([\w.-]+)\/stream\//.exec(EventSourceArn)?.[1] ?? '',
    functionName: functionNameIn(FunctionName),
    batchSize: BatchSize,
    bisect: BisectBatchOnFunctionError,
    retries: MaximumRetryAttempts,
    filters: (read.output.FilterCriteria?.Filters ?? []).map(({ Pattern }) => JSON.parse(Pattern) as unknown),
  }
}

const ofEc2 = v.looseObject({ source: v.tuple([v.literal('aws.ec2')]) })

/** The host imitates no other service that sends events; the schedule of every minute resumes workflows. */
function rulesOf({ properties }: ResolvedCfnResource): EventRuleModel[] {
  const { EventPattern: pattern, Targets: targets = [] } = properties as {
    EventPattern?: unknown
    Targets?: { Arn: string }[]
  }
  return v.is(ofEc2, pattern)
    ? targets.map(({ Arn }) => ({ pattern, functionName: functionNameIn(Arn) }))
    : []
}

const MINUTES: Record<string, number> = { minute: 1, hour: 60, day: 1440 }

function scheduleOf({ id, properties }: ResolvedCfnResource): AssemblyModel['schedules'] {
  // on AWS an alarm counts failed executions; on AWS and on this host, the schedule of every minute resumes
  // operations
  if (properties['EventPattern'] !== undefined) return []
  const expression = String(properties['ScheduleExpression'])
  const rate = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression)
  if (!rate) throw new Error(`the embedded host does not support the schedule ${expression}`)
  const targets = (properties['Targets'] ?? []) as { Arn: string }[]
  return targets.map(({ Arn }) => ({
    name: id,
    minutes: Number(rate[1]) * (MINUTES[rate[2] ?? ''] ?? 1),
    functionName: functionNameIn(Arn),
  }))
}
