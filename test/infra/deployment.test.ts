import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { createUndeployedApp } from '../../infra/docs/synthesise.ts'
import { type WorkerDefinition, workerDefinitions } from '../../shared/workers/workers.ts'
import { deployments } from '../support/checks/deployments.ts'
import { allFunctions, ofType, resourcesOf } from './synthesised.ts'

// Settings of a deployment for asynchronous events, imported definitions, and leftovers of a failed
// creation.

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-warnings-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const queuedWorkers = Object.entries<WorkerDefinition>(workerDefinitions).flatMap(([name, { queued }]) =>
  queued ? [[name, queued] as const] : [],
)

describe('events of asynchronous workers', () => {
  test('are configured for every worker that a schedule, a rule or another function starts', () => {
    expect(queuedWorkers.map(([name]) => name)).toEqual([
      'on-tidy-schedule',
      'on-job',
      'on-pull',
      'on-drill',
      'on-journal',
      'on-instance-event',
      'on-account-facts',
    ])
  })

  test.each([
    ['on functions', allFunctions, '$LATEST'],
    ['on aliases with a canary', { ...allFunctions, canary: {} }, 'live'],
  ] as const)('%s have a maximum age and a number of retries', (_, settings, qualifier) => {
    const configs = ofType(resourcesOf(settings), 'AWS::Lambda::EventInvokeConfig').map(
      ([, { Properties }]) => Properties,
    )
    const [age, retries] = ['MaximumEventAgeInSeconds', 'MaximumRetryAttempts'] as const
    expect(configs.map(one => [one[age], one[retries]])).toEqual(
      queuedWorkers.map(([, one]) => [one.minutes * 60, one.retries]),
    )
    for (const { Qualifier } of configs) {
      const text = JSON.stringify(Qualifier)
      expect(qualifier === '$LATEST' ? text : 'alias', text).toBe(
        qualifier === '$LATEST' ? '"$LATEST"' : 'alias',
      )
    }
  })
})

const definitions = (settings: Record<string, unknown>) =>
  [...resourcesOf(settings).values()].filter(
    ({ Type, Properties }) =>
      ['AWS::ApiGatewayV2::Api', 'AWS::ApiGateway::RestApi'].includes(Type) && Properties.Body,
  )

describe('definitions that API Gateway imports', () => {
  test.each(['plain', 'private'])('name greedy parameters as AWS does: %s', name => {
    const [api] = definitions(deployments[name] ?? {})
    const paths = Object.entries<Record<string, { parameters?: { name: string }[] }>>(
      api?.Properties.Body.paths,
    )
    const greedy = paths.filter(([path]) => path.endsWith('{proxy+}'))
    expect(greedy.length).toBeGreaterThan(0)
    for (const [path, methods] of greedy)
      for (const { parameters = [] } of Object.values(methods)) {
        expect(
          parameters.map(one => one.name),
          path,
        ).toContain('proxy')
        expect(JSON.stringify(parameters)).not.toContain('+')
      }
  })

  test.each(['plain', 'private'])(
    'fail the deployment on warnings unless `passImportWarnings` is set: %s',
    name => {
      const flagsOf = (more: object) =>
        definitions({ ...deployments[name], ...more }).map(({ Properties }) => Properties.FailOnWarnings)
      expect(new Set(flagsOf({}))).toEqual(new Set([true]))
      expect(new Set(flagsOf({ passImportWarnings: true }))).toEqual(new Set([false]))
    },
  )
})

test('log groups are deleted after a failed creation, and retained with an existing cluster', () => {
  for (const name of ['plain', 'full', 'balanced', 'web']) {
    const groups = ofType(resourcesOf(deployments[name] ?? {}), 'AWS::Logs::LogGroup')
    expect(groups.length).toBeGreaterThan(1)
    // the CDK's function that copies the code of Web Functions has its own log group
    const own = groups.filter(([id]) => !id.startsWith('S3ObjectCopy'))
    const policies = own.map(([, { DeletionPolicy }]) => DeletionPolicy)
    expect(policies).toContain('RetainExceptOnCreate')
    expect(policies).not.toContain('Retain')
  }
})

test("another definition of the cluster table changes a tag, so that CloudFormation reads the stream's ARN again", () => {
  const tagOf = (settings: Record<string, unknown>): string => {
    const [[, mapping] = []] = ofType(resourcesOf(settings), 'AWS::Lambda::EventSourceMapping')
    return mapping?.Properties.Tags.find((one: { Key: string }) => one.Key === 'cloud-auth:stream-of').Value
  }
  const plain = tagOf({ stage: 'test' })
  expect(plain).toMatch(/^[0-9a-f]{16}$/)
  expect(tagOf({ stage: 'test', tags: { team: 'auth' } })).toBe(plain)
  expect(tagOf({ stage: 'test', deletionProtection: false })).not.toBe(plain)
})

describe('the warning about assumable roles of any account', () => {
  const warningsOf = (name: string, settings: object): string[] =>
    createUndeployedApp({ stage: 'test', ...settings }, `${folder}/${name}`)
      .synth()
      .stacks.flatMap(({ messages }) => messages)
      .map(({ entry }) => String(entry.data))
      .filter(text => text.includes('assumableRoleArns'))

  test('names each ARN without an account', () => {
    expect(warningsOf('default', {})).toEqual([expect.stringContaining('arn:*:iam::*:role/cloud-auth-*')])
    const roles = ['arn:aws:iam::111122223333:role/a', 'arn:aws:iam::*:role/b']
    const [warning, ...others] = warningsOf('part', { assumableRoleArns: roles })
    expect([warning, others]).toEqual([expect.stringContaining(': arn:aws:iam::*:role/b.'), []])
  })

  test('is not given when all ARNs name an account', () => {
    expect(
      warningsOf('named', { assumableRoleArns: ['arn:aws:iam::111122223333:role/cloud-auth-*'] }),
    ).toEqual([])
  })
})
