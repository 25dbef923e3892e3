import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { deployments } from '../../infra/checks/deployments.ts'
import { appOf } from '../../infra/checks/synthesise.ts'
import { type Worker, workers } from '../../shared/workers/workers.ts'
import { ofType, resourcesOf } from './synthesised.ts'

// What a deployment does with events that nobody waits for, with what it imports, and with what a failed creation leaves.

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-warnings-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const queuedWorkers = Object.entries<Worker>(workers).flatMap(([name, { queued }]) =>
  queued ? [[name, queued] as const] : [],
)

describe('events of asynchronous workers', () => {
  test('are those of every worker that a schedule, a rule or another function starts', () => {
    expect(queuedWorkers.map(([name]) => name)).toEqual([
      'on-tidy-schedule',
      'on-job',
      'on-pull',
      'on-drill',
      'on-journal',
    ])
  })

  test.each([
    ['of the functions', { stage: 'test' }, '$LATEST'],
    ['of the aliases, where those are called', { stage: 'test', canary: {} }, 'live'],
  ] as const)('%s have an age and a number of retries', (_, settings, qualifier) => {
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
    'end a deployment with their warnings, unless the setting lets these pass: %s',
    name => {
      const flagsOf = (more: object) =>
        definitions({ ...deployments[name], ...more }).map(({ Properties }) => Properties.FailOnWarnings)
      expect(new Set(flagsOf({}))).toEqual(new Set([true]))
      expect(new Set(flagsOf({ passImportWarnings: true }))).toEqual(new Set([false]))
    },
  )
})

test('log groups of a failed creation do not stay, and those of a cluster that was there do', () => {
  for (const name of ['plain', 'full', 'balanced', 'web']) {
    const groups = ofType(resourcesOf(deployments[name] ?? {}), 'AWS::Logs::LogGroup')
    expect(groups.length).toBeGreaterThan(1)
    // that of the CDK's own function, which copies the code of Web Functions, is not ours
    const own = groups.filter(([id]) => !id.startsWith('S3ObjectCopy'))
    const policies = own.map(([, { DeletionPolicy }]) => DeletionPolicy)
    expect(policies).toContain('RetainExceptOnCreate')
    expect(policies).not.toContain('Retain')
  }
})

test('another definition of the cluster’s table has CloudFormation read the ARN of its stream again', () => {
  const tagOf = (settings: Record<string, unknown>): string => {
    const [[, mapping] = []] = ofType(resourcesOf(settings), 'AWS::Lambda::EventSourceMapping')
    return mapping?.Properties.Tags.find((one: { Key: string }) => one.Key === 'cloud-auth:stream-of').Value
  }
  const plain = tagOf({ stage: 'test' })
  expect(plain).toMatch(/^[0-9a-f]{16}$/)
  expect(tagOf({ stage: 'test', tags: { team: 'auth' } })).toBe(plain)
  expect(tagOf({ stage: 'test', deletionProtection: false })).not.toBe(plain)
})

describe('a warning that functions may assume roles of any account', () => {
  const warningsOf = (name: string, settings: object): string[] =>
    appOf({ stage: 'test', ...settings }, `${folder}/${name}`)
      .synth()
      .stacks.flatMap(({ messages }) => messages)
      .map(({ entry }) => String(entry.data))
      .filter(text => text.includes('assumableRoleArns'))

  test('comes where an ARN names no account, and names the ARN', () => {
    expect(warningsOf('default', {})).toEqual([expect.stringContaining('arn:*:iam::*:role/cloud-auth-*')])
    const roles = ['arn:aws:iam::111122223333:role/a', 'arn:aws:iam::*:role/b']
    const [warning, ...others] = warningsOf('part', { assumableRoleArns: roles })
    expect([warning, others]).toEqual([expect.stringContaining(': arn:aws:iam::*:role/b.'), []])
  })

  test('does not come where all accounts are named', () => {
    expect(
      warningsOf('named', { assumableRoleArns: ['arn:aws:iam::111122223333:role/cloud-auth-*'] }),
    ).toEqual([])
  })
})
