import { parseJson } from '../../../shared/values/json.ts'
import { AwsCallError, type AwsCalls, readXmlElements, readXmlTexts } from './aws-calls.ts'

/** A CloudFormation stack. */
export interface FoundStack {
  /** for example `CREATE_COMPLETE` */
  status: string
  tags: Readonly<Record<string, string>>
  outputs: Readonly<Record<string, string>>
}

/** A stack to make. */
export interface WantedStack {
  name: string
  /** the template, or the key of the template in a bucket */
  template: string | { bucket: string; key: string }
  parameters: Readonly<Record<string, string>>
  tags: Readonly<Record<string, string>>
}

/** A resource of a stack. */
export interface StackResource {
  logicalId: string
  physicalId: string
  type: string
}

/** The calls of a run in the account. Tests replace this port. */
export interface ProveCloud {
  /** undefined: no stack has this name */
  findStack(name: string): Promise<FoundStack | undefined>
  createStack(stack: WantedStack): Promise<void>
  deleteStack(name: string): Promise<void>
  /** returns the first reason why a resource of a stack failed */
  findStackFailure(name: string): Promise<string | undefined>
  listStackResources(name: string): Promise<StackResource[]>
  putObject(bucket: string, key: string, bytes: Uint8Array): Promise<void>
  /** deletes all objects of a bucket */
  emptyBucket(bucket: string): Promise<void>
  /** invokes a function, and returns its result. @throws Error if the function fails */
  invokeFunction(name: string, event: object): Promise<unknown>
  /** starts a function, and does not wait for its end */
  startFunction(name: string, event: object): Promise<void>
  /** returns the messages of a log group that match a pattern */
  filterLog(group: string, pattern: string): Promise<string[]>
  /** returns the VPC of a subnet */
  findVpc(subnet: string): Promise<string>
}

const FORMATION = ['cloudformation', '2010-05-15'] as const
/** Maximum number of pages of a list, which bounds a list that never ends. */
const MOST_PAGES = 50

/** Returns pairs of two elements that stand next to each other, as an object. */
const pairsOf = (xml: string, parent: string, key: string, value: string): Record<string, string> =>
  Object.fromEntries(
    readXmlElements(xml, parent).flatMap(inner =>
      readXmlElements(inner, 'member').map(one => [
        readXmlTexts(one, key)[0] ?? '',
        readXmlTexts(one, value)[0] ?? '',
      ]),
    ),
  )

/** Returns a list of records as parameters of a form. */
const membersOf = (list: string, records: readonly Record<string, string>[]): Record<string, string> =>
  Object.fromEntries(
    records.flatMap((record, index) =>
      Object.entries(record).map(([name, value]) => [`${list}.member.${index + 1}.${name}`, value]),
    ),
  )

const recordsOf = (values: Readonly<Record<string, string>>, key: string, value: string) =>
  Object.entries(values).map(([name, text]) => ({ [key]: name, [value]: text }))

type StackCalls = Pick<
  ProveCloud,
  'findStack' | 'createStack' | 'deleteStack' | 'findStackFailure' | 'listStackResources'
>

/** @param origin endpoint of S3, for the address of templates */
function createStackCalls(calls: AwsCalls, origin: string): StackCalls {
  const formation = (action: string, parameters: Record<string, string>) =>
    calls.query(...FORMATION, action, parameters)

  return {
    async findStack(name) {
      let xml: string
      try {
        xml = await formation('DescribeStacks', { StackName: name })
      } catch (error) {
        if (error instanceof AwsCallError && /does not exist/.test(error.message)) return undefined
        throw error
      }
      const status = readXmlTexts(xml, 'StackStatus')[0]
      if (status === undefined || status === 'DELETE_COMPLETE') return undefined
      return {
        status,
        tags: pairsOf(xml, 'Tags', 'Key', 'Value'),
        outputs: pairsOf(xml, 'Outputs', 'OutputKey', 'OutputValue'),
      }
    },
    async createStack({ name, template, parameters, tags }) {
      const given = await formation('CreateStack', {
        StackName: name,
        ...(typeof template === 'string'
          ? { TemplateBody: template }
          : { TemplateURL: `${origin}/${template.bucket}/${template.key}` }),
        OnFailure: 'DO_NOTHING',
        'Capabilities.member.1': 'CAPABILITY_IAM',
        ...membersOf('Parameters', recordsOf(parameters, 'ParameterKey', 'ParameterValue')),
        ...membersOf('Tags', recordsOf(tags, 'Key', 'Value')),
      })
      if (readXmlTexts(given, 'StackId').length === 0) throw new Error(`CloudFormation gave ${name} no id`)
    },
    async deleteStack(name) {
      await formation('DeleteStack', { StackName: name })
    },
    async findStackFailure(name) {
      const events = readXmlElements(await formation('DescribeStackEvents', { StackName: name }), 'member')
      // the newest event is first, and later failures follow from the first failure
      const failed = events
        .filter(one => /_FAILED$/.test(readXmlTexts(one, 'ResourceStatus')[0] ?? ''))
        .at(-1)
      return (
        failed &&
        [readXmlTexts(failed, 'LogicalResourceId')[0], readXmlTexts(failed, 'ResourceStatusReason')[0]].join(
          ': ',
        )
      )
    },
    async listStackResources(name) {
      const resources: StackResource[] = []
      let token: string | undefined
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        const xml = await formation('ListStackResources', {
          StackName: name,
          ...(token ? { NextToken: token } : {}),
        })
        for (const one of readXmlElements(xml, 'member')) {
          const text = (element: string) => readXmlTexts(one, element)[0] ?? ''
          resources.push({
            logicalId: text('LogicalResourceId'),
            physicalId: text('PhysicalResourceId'),
            type: text('ResourceType'),
          })
        }
        token = readXmlTexts(xml, 'NextToken')[0]
        if (!token) break
      }
      return resources
    },
  }
}

/** Creates the port to an account by signed calls. */
export const createProveCloud = (calls: AwsCalls): ProveCloud => ({
  ...createStackCalls(calls, calls.endpointOf('s3')),
  async putObject(bucket, key, body) {
    await calls.send('s3', { method: 'PUT', path: `/${bucket}/${key}`, body })
  },
  async emptyBucket(bucket) {
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const { text } = await calls.send('s3', { method: 'GET', path: `/${bucket}?list-type=2` })
      const keys = readXmlTexts(text, 'Key')
      for (const key of keys) await calls.send('s3', { method: 'DELETE', path: `/${bucket}/${key}` })
      if (keys.length === 0 || readXmlTexts(text, 'IsTruncated')[0] !== 'true') return
    }
  },
  async startFunction(name, event) {
    await calls.send('lambda', {
      method: 'POST',
      path: `/2015-03-31/functions/${name}/invocations`,
      headers: { 'x-amz-invocation-type': 'Event' },
      body: JSON.stringify(event),
    })
  },
  async invokeFunction(name, event) {
    const path = `/2015-03-31/functions/${name}/invocations`
    const { headers, text } = await calls.send('lambda', {
      method: 'POST',
      path,
      body: JSON.stringify(event),
    })
    const fault = headers.get('x-amz-function-error')
    // the result of a failed function can contain anything, so its text is not shown
    if (fault) throw new Error(`the function ${name} failed (${fault})`)
    return parseJson(text)
  },
  async filterLog(logGroupName, filterPattern) {
    const messages: string[] = []
    let nextToken: unknown
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const page = await calls.json('logs', 'Logs_20140328.FilterLogEvents', {
        logGroupName,
        filterPattern,
        ...(nextToken === undefined ? {} : { nextToken }),
      })
      for (const one of (page['events'] ?? []) as { message?: string }[]) messages.push(one.message ?? '')
      nextToken = page['nextToken']
      if (nextToken === undefined) break
    }
    return messages
  },
  async findVpc(subnet) {
    const xml = await calls.query('ec2', '2016-11-15', 'DescribeSubnets', { 'SubnetId.1': subnet })
    const vpc = readXmlTexts(xml, 'vpcId')[0]
    if (vpc === undefined) throw new Error(`the subnet ${subnet} was not found`)
    return vpc
  },
})
