import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  AwsCallError,
  createAwsCalls,
  readAwsEndpoint,
} from '../../../../../infra/command/prove/aws-calls.ts'
import { createProveCloud } from '../../../../../infra/command/prove/cloud.ts'
import { signAwsRequest } from '../../../../../infra/command/prove/signed-request.ts'
import { createSigV4Signer } from '../../../../../shared/adapters/aws/wire/sign.ts'

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret', sessionToken: 'session' }

test('a signature equals the signature of the service’s own client', () => {
  const now = Date.UTC(2026, 10, 27)
  const url = new URL('https://kms.eu-west-1.amazonaws.com/')
  const body = '{"a":1}'
  const headers = { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'T.A' }
  const scope = { service: 'kms', region: 'eu-west-1', now }
  const signed = signAwsRequest({ method: 'POST', url, headers, body }, credentials, scope)
  const { 'x-amz-content-sha256': hash = '' } = signed
  const sign = createSigV4Signer('kms', 'eu-west-1')
  const post = { host: url.host, path: '/', headers: { ...headers, 'x-amz-content-sha256': hash }, body }
  expect(signed).toEqual(sign(post, credentials, now))
})

interface Answer {
  status: number
  body: string
  headers?: Record<string, string>
}

let server: Server
let endpoint: string
let answers: Answer[]
let asked: { method: string; url: string; body: string; headers: IncomingMessage['headers'] }[]

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += String(part)
    const { method = '', url = '', headers } = request
    asked.push({ method, url, body, headers })
    const answer = answers.shift() ?? { status: 200, body: '' }
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => void server.close())
beforeEach(() => {
  answers = []
  asked = []
})

const cloud = () =>
  createProveCloud(createAwsCalls({ region: 'eu-west-1', endpoint, credentials: async () => credentials }))
const xml = (body: string, status = 200): Answer => ({ status, body })

describe('the calls of a run', () => {
  test('find a stack with its tags and outputs, without the tags of nested elements', async () => {
    answers.push(
      xml(`<R><Stacks><member><StackStatus>CREATE_COMPLETE</StackStatus>
        <Outputs><member><OutputKey>A</OutputKey><OutputValue>a&amp;b</OutputValue></member></Outputs>
        <Tags><member><Key>cloud-auth:prove</Key><Value>0a1b2c3d</Value></member></Tags></member></Stacks></R>`),
    )
    expect(await cloud().findStack('one')).toEqual({
      status: 'CREATE_COMPLETE',
      tags: { 'cloud-auth:prove': '0a1b2c3d' },
      outputs: { A: 'a&b' },
    })
    expect(asked[0]).toMatchObject({ method: 'POST', url: '/' })
    expect(Object.fromEntries(new URLSearchParams(asked[0]?.body))).toEqual({
      Action: 'DescribeStacks',
      Version: '2010-05-15',
      StackName: 'one',
    })
  })

  test('find no stack where CloudFormation knows none, but report other refusals', async () => {
    const refusal = (message: string) =>
      xml(`<E><Error><Code>ValidationError</Code><Message>${message}</Message></Error></E>`, 400)
    answers.push(refusal('Stack with id one does not exist'), refusal('no such thing'))
    expect(await cloud().findStack('one')).toBeUndefined()
    await expect(cloud().findStack('one')).rejects.toBeInstanceOf(AwsCallError)
  })

  test('make a stack with parameters, tags and the address of its template', async () => {
    answers.push(xml('<R><StackId>arn</StackId></R>'))
    await cloud().createStack({
      name: 'one',
      template: { bucket: 'b', key: 'api.json' },
      parameters: { P: '1' },
      tags: { T: '2' },
    })
    expect(Object.fromEntries(new URLSearchParams(asked[0]?.body))).toMatchObject({
      TemplateURL: `${endpoint}/b/api.json`,
      'Parameters.member.1.ParameterKey': 'P',
      'Parameters.member.1.ParameterValue': '1',
      'Tags.member.1.Key': 'T',
      'Tags.member.1.Value': '2',
    })
  })

  test('empty a bucket page by page', async () => {
    const page = (keys: string[], more: boolean) =>
      xml(
        `<L>${keys.map(key => `<Contents><Key>${key}</Key></Contents>`).join('')}<IsTruncated>${more}</IsTruncated></L>`,
      )
    answers.push(page(['a'], true), xml(''), page(['b'], false), xml(''))
    await cloud().emptyBucket('bucket')
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /bucket?list-type=2',
      'DELETE /bucket/a',
      'GET /bucket?list-type=2',
      'DELETE /bucket/b',
    ])
  })

  test('do not show the result of a failed function, which can have secrets', async () => {
    answers.push({ status: 200, body: '{"secret":1}', headers: { 'x-amz-function-error': 'Unhandled' } })
    await expect(cloud().invokeFunction('init', {})).rejects.toThrow('the function init failed (Unhandled)')
  })

  test('are sent again when a service throttles', async () => {
    answers.push(xml('<E><Code>Throttling</Code></E>', 400), xml('<R><vpcId>vpc-1</vpcId></R>'))
    expect(await cloud().findVpc('subnet-1')).toBe('vpc-1')
  })

  test('tell the code and the message of a refusal in JSON, on one line', async () => {
    answers.push({ status: 400, body: '{"__type":"x#ResourceNotFoundException","message":"no\\ngroup"}' })
    await expect(cloud().filterLog('g', 'p')).rejects.toThrow('logs: ResourceNotFoundException: no group')
  })
})

describe('AWS_ENDPOINT_URL', () => {
  test.each([
    ['https://aws.example.com/x', 'https://aws.example.com'],
    ['http://127.0.0.1:4566', 'http://127.0.0.1:4566'],
    ['', undefined],
  ])('%j is %s', (AWS_ENDPOINT_URL, origin) => expect(readAwsEndpoint({ AWS_ENDPOINT_URL })).toBe(origin))
  test.each(['http://aws.example.com', 'ftp://localhost', 'x'])('rejects %j', AWS_ENDPOINT_URL =>
    expect(() => readAwsEndpoint({ AWS_ENDPOINT_URL })).toThrow('must be an https URL'),
  )
})
