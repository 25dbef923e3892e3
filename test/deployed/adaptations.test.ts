import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildProbeTemplate } from '../../infra/command/prove/probe-stack.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { EmulatedAccount } from './account.ts'
import {
  type AdaptableTemplate,
  adaptTemplate,
  type EmulatorAdaptationName,
  emulatorAdaptationNames,
  emulatorAdaptations,
  type Resources,
  templateAdaptations,
} from './adaptations.ts'
import { EMULATED, type Emulator, startEmulator } from './emulator.ts'
import { sendToService } from './stacks.ts'

// Each row of the adaptations has a probe, which reports whether the emulator behaves like AWS. A probe that succeeds
// without its row shows that the emulator no longer needs the row: delete the row then.

interface Probed {
  emulator: Emulator
  account: EmulatedAccount
}

let plain: Probed
let adapted: Probed
beforeAll(async () => {
  const probed = async (names: readonly EmulatorAdaptationName[]): Promise<Probed> => {
    const emulator = await startEmulator(names)
    return { emulator, account: new EmulatedAccount(emulator) }
  }
  plain = await probed([])
  adapted = await probed(emulatorAdaptationNames)
})
afterAll(async () => {
  await plain?.emulator.stop()
  await adapted?.emulator.stop()
})

let stacks = 0

/** Creates a stack. @returns the physical ids of its resources, or undefined if the creation failed */
async function createStack(
  one: Probed,
  template: AdaptableTemplate & { Parameters?: object },
): Promise<string[] | undefined> {
  const stack = { StackName: `probe-${stacks++}`, Version: '2010-05-15' }
  const ask = async (Action: string, more = {}) => {
    const body = new URLSearchParams({ Action, ...stack, ...more })
    return (await sendToService(one.emulator, 'cloudformation', '/', { method: 'POST', body })).text()
  }
  await ask('CreateStack', { TemplateBody: JSON.stringify(template) })
  const end = await eventually(async () => {
    const [, found = ''] = /<StackStatus>(\w+)</.exec(await ask('DescribeStacks')) ?? []
    return found === '' || /_COMPLETE$|_FAILED$/.test(found) ? found : undefined
  })
  if (end !== 'CREATE_COMPLETE') return undefined
  const listed = await ask('ListStackResources')
  return [...listed.matchAll(/<PhysicalResourceId>([^<]+)</g)].map(([, id = '']) => id)
}

const functionNamed = (FunctionName: string, code: string, more: object = {}): Resources => ({
  Function: {
    Type: 'AWS::Lambda::Function',
    Properties: {
      FunctionName,
      Runtime: 'nodejs24.x',
      Handler: 'index.handler',
      Role: `arn:aws:iam::${EMULATED.account}:role/probe`,
      Code: { ZipFile: `exports.handler = async event => { ${code} }` },
      ...more,
    },
  },
})

const probes: Record<EmulatorAdaptationName, (one: Probed) => Promise<boolean>> = {
  'runtime-client': async one => {
    const LoggingConfig = { LogFormat: 'JSON' }
    await createStack(one, {
      Resources: functionNamed('logs', "console.log({ audit: { of: ['request'] } })", { LoggingConfig }),
    })
    expect(await one.account.invoke('logs', {})).toMatchObject({ fault: undefined })
    const lines = await one.account.readLog('/aws/lambda/logs')
    return lines.some(line => line.startsWith('{"') && JSON.parse(line).message?.audit?.of[0] === 'request')
  },
  'json-patterns': async one => {
    await createStack(one, {
      Resources: {
        ...functionNamed('subscribed', 'console.log(event.awslogs.data)'),
        Group: { Type: 'AWS::Logs::LogGroup', Properties: { LogGroupName: 'source' } },
        Filter: {
          Type: 'AWS::Logs::SubscriptionFilter',
          DependsOn: 'Group',
          Properties: {
            LogGroupName: 'source',
            FilterPattern: '{ $.message.audit = "*" }',
            DestinationArn: { 'Fn::GetAtt': ['Function', 'Arn'] },
          },
        },
      },
    })
    const entry = '{"message":{"audit":"request"}}'
    await one.account.writeLog('source', ['the words .message.audit', entry])
    const carried = await eventually(async () => {
      const groups = await one.account.listLogGroups()
      if (!groups.includes('/aws/lambda/subscribed')) return undefined
      const lines = await one.account.readLog('/aws/lambda/subscribed')
      return /H4sI[\w+/=]+/.exec(lines.join('\n'))?.[0]
    })
    const { logEvents } = JSON.parse(gunzipSync(Buffer.from(carried, 'base64')).toString('utf8'))
    return logEvents.length === 1 && logEvents[0].message === entry
  },
  names: async one => {
    // a connection to a closed port is refused once the name is resolved
    const code = `
      const { connect } = require('node:net')
      return new Promise(resolve => connect(1, 'east.test').on('error', ({ code }) => resolve(code)))`
    await createStack(one, { Resources: functionNamed('connects', code) })
    return (await one.account.invoke('connects', {})).result === 'ECONNREFUSED'
  },
  'function-roles': async one => {
    await createStack(one, {
      Resources: functionNamed('role', 'return process.env.AWS_ACCESS_KEY_ID'),
    })
    const { result } = await one.account.invoke('role', {})
    return result !== EMULATED.account
  },
  instances: async one => {
    const Properties = { ImageId: 'ami-0abcdef1234567890', InstanceType: 't4g.nano' }
    const created = await createStack(one, {
      Resources: { Instance: { Type: 'AWS::EC2::Instance', Properties } },
    })
    return created !== undefined && (await one.account.awaitInstance(created[0] ?? '')) !== undefined
  },
  'arm-image': async one => {
    const { Parameters } = JSON.parse(buildProbeTemplate(undefined)) as { Parameters: { Image: object } }
    const Resources = { Group: { Type: 'AWS::Logs::LogGroup' } }
    return (await createStack(one, { Parameters: { Image: Parameters.Image }, Resources })) !== undefined
  },
}

describe('a row of the emulator', () => {
  test.each(emulatorAdaptationNames)('%s is needed, and sufficient', async name => {
    expect(emulatorAdaptations[name].why).not.toBe('')
    expect(await probes[name](plain)).toBe(false)
    expect(await probes[name](adapted)).toBe(true)
  })
})

const alarm = (id: string) => ({
  Id: id,
  ReturnData: false,
  MetricStat: { Metric: { Namespace: 'probe', MetricName: id }, Period: 300, Stat: 'Sum' },
})

const definition = {
  openapi: '3.0.1',
  info: { title: 'probe', version: '1' },
  paths: {
    '/v1/probe': {
      'x-amazon-apigateway-any-method': {
        'x-amazon-apigateway-integration': { $ref: '#/components/x-amazon-apigateway-integrations/probe' },
      },
    },
  },
  components: {
    'x-amazon-apigateway-integrations': {
      probe: {
        type: 'aws_proxy',
        httpMethod: 'POST',
        payloadFormatVersion: '2.0',
        uri: `arn:aws:lambda:us-east-1:${EMULATED.account}:function:probe`,
      },
    },
  },
}

/** A template that needs each row of the templates, and what shows that the emulator has created its resources. */
const released: Record<
  keyof typeof templateAdaptations,
  { resources: Resources; serves(one: Probed, created: string[]): Promise<boolean> }
> = {
  queries: {
    resources: {
      Query: {
        Type: 'AWS::Logs::QueryDefinition',
        Properties: { Name: 'probe', QueryString: 'fields @message' },
      },
      Group: { Type: 'AWS::Logs::LogGroup', DependsOn: ['Query'] },
    },
    serves: async () => true,
  },
  'metric-math': {
    resources: {
      Alarm: {
        Type: 'AWS::CloudWatch::Alarm',
        Properties: {
          ComparisonOperator: 'GreaterThanThreshold',
          EvaluationPeriods: 1,
          Threshold: 0,
          Metrics: [
            alarm('one'),
            alarm('two'),
            { Id: 'sum', Expression: 'SUM([one, two])', ReturnData: true },
          ],
        },
      },
      Group: { Type: 'AWS::Logs::LogGroup' },
    },
    serves: async () => true,
  },
  definitions: {
    resources: {
      Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Body: definition, FailOnWarnings: true } },
    },
    serves: async ({ emulator }, [api]) => {
      const routes = await sendToService(emulator, 'apigateway', `/v2/apis/${api}/routes`)
      return (await routes.text()).includes('ANY /v1/probe')
    },
  },
  'any-methods': {
    resources: {
      Api: {
        Type: 'AWS::ApiGateway::RestApi',
        Properties: {
          Body: {
            openapi: '3.0.1',
            info: { title: 'probe', version: '1' },
            paths: { '/probe': { 'x-amazon-apigateway-any-method': { responses: {} } } },
          },
        },
      },
    },
    serves: async ({ emulator }, [api]) => {
      const resources = await sendToService(emulator, 'apigateway', `/restapis/${api}/resources`)
      const { item } = (await resources.json()) as { item: { path: string; resourceMethods?: object }[] }
      const methods = Object.keys(item.find(one => one.path === '/probe')?.resourceMethods ?? {})
      return methods.includes('ANY') || methods.includes('GET')
    },
  },
}

describe('a row of the templates', () => {
  test.each(Object.keys(released) as (keyof typeof released)[])(
    '%s is needed, and sufficient',
    async name => {
      const { resources: Resources, serves } = released[name]
      expect(Object.values(Resources).some(templateAdaptations[name].concerns)).toBe(true)
      const works = async (template: AdaptableTemplate) => {
        const created = await createStack(adapted, template)
        return created !== undefined && serves(adapted, created)
      }
      expect(await works({ Resources })).toBe(false)
      expect(await works(adaptTemplate({ Resources }))).toBe(true)
    },
  )
})
