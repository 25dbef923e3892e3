import {
  CloudWatchLogsClient,
  CreateLogStreamCommand,
  GetLogEventsCommand,
  PutLogEventsCommand,
  paginateDescribeLogGroups,
  paginateDescribeLogStreams,
} from '@aws-sdk/client-cloudwatch-logs'
import { DynamoDBClient, paginateListTables } from '@aws-sdk/client-dynamodb'
import {
  DescribeInstancesCommand,
  DescribeSubnetsCommand,
  EC2Client,
  type Instance,
  RunInstancesCommand,
} from '@aws-sdk/client-ec2'
import { CreateAccessKeyCommand, CreateUserCommand, IAMClient } from '@aws-sdk/client-iam'
import {
  type FunctionConfiguration,
  InvokeCommand,
  LambdaClient,
  paginateListFunctions,
} from '@aws-sdk/client-lambda'
import { paginateListExecutions, paginateListStateMachines, SFNClient } from '@aws-sdk/client-sfn'
import type { WorkloadCredentials } from '../../infra/command/login/signed-login.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { EMULATED, type Emulator } from './emulator.ts'

/** The result of an invocation. */
export interface Invocation {
  /** absent: the function returned a result */
  fault: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: results are what the tests look into
  result: any
}

/** Returns the items of all pages. */
async function collect<Page, Item>(
  pages: AsyncIterable<Page>,
  itemsOf: (page: Page) => Item[] | undefined,
): Promise<Item[]> {
  const items: Item[] = []
  for await (const page of pages) items.push(...(itemsOf(page) ?? []))
  return items
}

/** An AMI that the emulator lists. */
const IMAGE = 'ami-0abcdef1234567890'

/** Reads and changes the emulated account by AWS's SDK. */
export class EmulatedAccount {
  private readonly ec2: EC2Client
  private readonly iam: IAMClient
  private readonly lambda: LambdaClient
  private readonly logs: CloudWatchLogsClient
  private readonly tables: DynamoDBClient
  private readonly workflows: SFNClient

  constructor({ url, region }: Pick<Emulator, 'url' | 'region'>) {
    const credentials = { accessKeyId: EMULATED.account, secretAccessKey: 'emulated' }
    const settings = { endpoint: url, region, credentials }
    this.ec2 = new EC2Client(settings)
    this.iam = new IAMClient(settings)
    this.lambda = new LambdaClient(settings)
    this.logs = new CloudWatchLogsClient(settings)
    this.tables = new DynamoDBClient(settings)
    this.workflows = new SFNClient(settings)
  }

  listFunctions(): Promise<FunctionConfiguration[]> {
    return collect(paginateListFunctions({ client: this.lambda }, {}), page => page.Functions)
  }

  /** Returns the name of the function of a folder in functions/. */
  async functionNameOf(folder: string): Promise<string> {
    const all = await this.listFunctions()
    const name = all.find(one => one.Description === `cloud-auth: ${folder}`)?.FunctionName
    if (name === undefined) throw new Error(`no function of ${folder} is deployed`)
    return name
  }

  async invoke(FunctionName: string, event: unknown): Promise<Invocation> {
    const Payload = Buffer.from(JSON.stringify(event))
    const answer = await this.lambda.send(new InvokeCommand({ FunctionName, Payload }))
    const text = Buffer.from(answer.Payload ?? []).toString('utf8')
    return { fault: answer.FunctionError, result: text === '' ? undefined : JSON.parse(text) }
  }

  async listLogGroups(): Promise<string[]> {
    const groups = await collect(paginateDescribeLogGroups({ client: this.logs }, {}), page => page.logGroups)
    return groups.flatMap(one => one.logGroupName ?? [])
  }

  /** Returns the messages of a log group. */
  async readLog(logGroupName: string): Promise<string[]> {
    const streams = await collect(
      paginateDescribeLogStreams({ client: this.logs }, { logGroupName }),
      page => page.logStreams,
    )
    const messages: string[] = []
    for (const { logStreamName } of streams) {
      const read = new GetLogEventsCommand({ logGroupName, logStreamName, startFromHead: true })
      messages.push(...((await this.logs.send(read)).events ?? []).flatMap(one => one.message ?? []))
    }
    return messages
  }

  /** Writes messages to a log group. */
  async writeLog(logGroupName: string, messages: readonly string[]): Promise<void> {
    const place = { logGroupName, logStreamName: 'written by the test' }
    await this.logs.send(new CreateLogStreamCommand(place))
    const logEvents = messages.map(message => ({ message, timestamp: Date.now() }))
    await this.logs.send(new PutLogEventsCommand({ ...place, logEvents }))
  }

  /** Waits until all executions of a state machine have ended. @returns the status of at least one execution */
  async endsOfWorkflow(name: string): Promise<string[]> {
    const client = this.workflows
    const machines = await collect(paginateListStateMachines({ client }, {}), page => page.stateMachines)
    const stateMachineArn = machines.find(one => one.name === name)?.stateMachineArn
    if (stateMachineArn === undefined) throw new Error(`the state machine ${name} is not deployed`)
    return eventually(async () => {
      const pages = paginateListExecutions({ client }, { stateMachineArn })
      const ends = (await collect(pages, page => page.executions)).map(one => one.status ?? '')
      return ends.length > 0 && !ends.includes('RUNNING') ? ends : undefined
    })
  }

  /** Creates a user. @returns an access key of the user */
  async createUserKey(UserName: string): Promise<WorkloadCredentials> {
    await this.iam.send(new CreateUserCommand({ UserName }))
    const { AccessKey } = await this.iam.send(new CreateAccessKeyCommand({ UserName }))
    const { AccessKeyId: accessKeyId = '', SecretAccessKey: secretAccessKey = '' } = AccessKey ?? {}
    return { accessKeyId, secretAccessKey }
  }

  /** Starts an instance, and returns the instance once it runs. */
  async runInstance(): Promise<Instance> {
    const one = { ImageId: IMAGE, InstanceType: 't3.micro', MinCount: 1, MaxCount: 1 } as const
    const started = await this.ec2.send(new RunInstancesCommand(one))
    return this.awaitInstance(started.Instances?.[0]?.InstanceId ?? '')
  }

  /** Returns an instance once it runs. */
  awaitInstance(id: string): Promise<Instance> {
    return eventually(async () => {
      const { Reservations } = await this.ec2.send(new DescribeInstancesCommand({ InstanceIds: [id] }))
      return Reservations?.[0]?.Instances?.find(({ State }) => State?.Name === 'running')
    })
  }

  /** Returns the id of a subnet. */
  async findSubnet(): Promise<string> {
    const { Subnets: [subnet] = [] } = await this.ec2.send(new DescribeSubnetsCommand({}))
    return subnet?.SubnetId ?? ''
  }

  /** Returns the ids of all instances that were not terminated. */
  async listInstances(): Promise<string[]> {
    const { Reservations = [] } = await this.ec2.send(new DescribeInstancesCommand({}))
    return Reservations.flatMap(({ Instances = [] }) => Instances)
      .filter(({ State }) => State?.Name !== 'terminated')
      .flatMap(({ InstanceId }) => InstanceId ?? [])
  }

  listTables(): Promise<string[]> {
    return collect(paginateListTables({ client: this.tables }, {}), page => page.TableNames)
  }
}
