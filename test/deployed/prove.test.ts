import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { buildProvePolicy, eksPolicyRows, policyRows } from '../../infra/command/prove/policy.ts'
import { probes } from '../../infra/command/prove/probes.ts'
import { evaluate, type IamRequest, ruled } from '../support/iam/evaluate.ts'
import { emulatorAdaptationNames } from './adaptations.ts'
import { type Emulator, startEmulator } from './emulator.ts'
import { awaitText, ProvedAccount, writeAdaptedRelease } from './proved-account.ts'
import { recordSignedRequests } from './recorded-calls.ts'

// Runs `cloud-auth prove` in an emulated AWS account, with the release folder that this test makes.

let emulator: Emulator
let proved: ProvedAccount
let recorded: ReadonlyMap<string, IamRequest>

beforeAll(async () => {
  const release = await writeAdaptedRelease()
  emulator = await startEmulator(emulatorAdaptationNames)
  recorded = recordSignedRequests()
  proved = new ProvedAccount(emulator, release)
  for (const [name, value] of Object.entries(emulator.variables))
    if (name.startsWith('AWS_')) vi.stubEnv(name, value)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await emulator?.stop()
  proved?.remove()
})

interface ReportRow {
  id: string
  result: string
  note: string
}

/** Returns the rows of the report that have a result. */
const rowsWith = (wanted: string): string[] =>
  (JSON.parse(proved.printed).rows as ReportRow[])
    .filter(({ result }) => result === wanted)
    .map(({ id, note }) => `${id}: ${note}`)

// the emulator's HTTP API forwards LIST
const LIST_ROW = 'list: LIST answered 200'

describe('cloud-auth prove', () => {
  test('deploys a release, checks its claims, and leaves only the scheduled key', async () => {
    const end = await proved.start()
    const report = JSON.parse(proved.printed)
    expect(report.stopped, proved.said.join('\n')).toBeUndefined()
    expect(rowsWith('broken')).toEqual([LIST_ROW])
    expect(rowsWith('not asked')).toContain('cold-start: the log has no start of a function')
    expect(rowsWith('held').length, proved.printed).toBe(Object.keys(probes).length - 2)
    expect(end).toBe('unwell')
    expect(report.remains).toEqual([expect.objectContaining({ what: expect.stringMatching(/^KMS key/) })])
    await proved.expectEmpty()
  })

  test('starts an instance whose script logs in at its first attempt', () => {
    expect(proved.script).toEqual({ status: 0, output: 'shutdown -h +60\n' })
  })

  test('keeps a run with --keep, checks it again with --resume, and leaves nothing', async () => {
    expect(await proved.start({ keeps: true })).toBe('unwell')
    const { run } = JSON.parse(proved.printed)
    expect(await proved.account.listTables()).not.toEqual([])
    expect(await proved.start({ isResume: true, words: [run], release: undefined })).toBe('unwell')
    expect(rowsWith('broken')).toEqual([LIST_ROW])
    await proved.expectEmpty()
  })

  test('refuses a limit above 5 USD before any call', async () => {
    await expect(proved.start({ limit: '6' })).rejects.toMatchObject({ exit: 'usage' })
  })
})

/** Throws at the first call with a name that matches. */
const failAt = (pattern: RegExp) => {
  let hasFailed = false
  return (call: string): void => {
    if (hasFailed || !pattern.test(call)) return
    hasFailed = true
    throw new Error('a fault of the test')
  }
}

/** Calls of the run's probes in the account, and the claims that break when such a call fails. */
const probeCalls = {
  'invokeFunction .*-probe-': 'wire: a fault of the test',
  'filterLog .*-api[/-]Audit': 'audit-copy: a fault of the test',
  'filterLog .*-api[/-]Logs': 'cold-start: a fault of the test',
} as const

test('cloud-auth prove --eks-cluster refuses an unknown cluster before it makes anything', async () => {
  await expect(proved.start({ eksCluster: 'missing' })).rejects.toThrow('no EKS cluster has the name missing')
  await proved.expectEmpty()
})

describe('after a fault', () => {
  test.each([
    'createStack .*-assets',
    'createStack .*-data',
    'createStack .*-api',
    'createStack .*-workers',
    'createStack .*-probe',
    'putObject',
    'invokeFunction .*init',
    'listStackResources .*-api',
  ])('at %s nothing is left', async point => {
    expect(await proved.start({}, failAt(new RegExp(`^${point}`)))).toBe('refused')
    expect(JSON.parse(proved.printed).stopped).toBe('a fault of the test')
    await proved.expectEmpty()
  })

  test('of a template, which CloudFormation reports, nothing is left', async () => {
    // CloudFormation cannot create encrypted parameters
    const Properties = { Type: 'SecureString', Value: 'a secret' }
    const workers = { Resources: { Secret: { Type: 'AWS::SSM::Parameter', Properties } } }
    const release = await writeAdaptedRelease({ workers })
    expect(await proved.start({ release })).toBe('refused')
    expect(JSON.parse(proved.printed).stopped).toMatch(/-workers was not created: Secret: .*SecureString/)
    await proved.expectEmpty()
  })

  test('of the stack `probe` in a named subnet, nothing is left', async () => {
    const subnet = await proved.account.findSubnet()
    expect(await proved.start({ subnet }, failAt(/^createStack .*-probe/))).toBe('refused')
    await proved.expectEmpty()
  })

  test('of each call of a probe, the run continues, and nothing is left', async () => {
    const faults = Object.keys(probeCalls).map(pattern => failAt(new RegExp(`^${pattern}`)))
    const failOneCall = (call: string) => {
      for (const fail of faults) fail(call)
    }
    expect(await proved.start({}, failOneCall)).toBe('unwell')
    expect(rowsWith('broken').toSorted()).toEqual([...Object.values(probeCalls), LIST_ROW].toSorted())
    await proved.expectEmpty()
  })

  test('SIGINT twice leaves nothing', async () => {
    const end = await proved.start({}, call => {
      if (/^createStack .*-api$/.test(call)) proved.signal('SIGINT')
      if (/^deleteStack .*-data$/.test(call)) proved.signal('SIGINT')
    })
    expect(end).toBe('interrupted')
    await proved.expectEmpty()
  })

  test('SIGTERM to a program without a reader of its output leaves nothing', async () => {
    const child = proved.spawnRun()
    const ended = once(child, 'exit')
    await awaitText(child, '-api\n')
    child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    await proved.expectEmpty()
  })

  test('lost credentials leave a journal, and a cleanup leaves nothing', async () => {
    let isLost = false
    const end = await proved.start({}, call => {
      isLost ||= /^createStack .*-workers$/.test(call)
      if (isLost) throw new Error('ExpiredToken')
    })
    expect(end).toBe('refused')
    expect(await proved.account.listTables()).not.toEqual([])
    expect(await proved.start({ isCleanup: true })).toBe('done')
    await proved.expectEmpty()
  })

  test('SIGKILL leaves a journal, and a cleanup by the program leaves nothing', async () => {
    const child = proved.spawnRun()
    const ended = once(child, 'exit')
    await awaitText(child, '-api\n')
    child.kill('SIGKILL')
    await ended
    expect(proved.journals()).toHaveLength(1)
    const cleanup = proved.spawn(['--cleanup'])
    expect(await once(cleanup, 'exit')).toEqual([0, null])
    await proved.expectEmpty()
  })
})

describe('the policy of a run', () => {
  test('allows each call of the command', () => {
    const rules = [policyRows, eksPolicyRows].flatMap(rows => buildProvePolicy(rows).Statement.map(ruled))
    // AWS allows this action without a policy
    const calls = [...recorded.values()].filter(one => one.action !== 'sts:GetCallerIdentity')
    expect(calls.filter(one => !evaluate(rules, one).allowed)).toEqual([])
  })

  test('has no action of the command that no run uses', () => {
    const used = new Set([...recorded.values()].map(one => one.action))
    // CloudFormation and Lambda read objects
    used.add('s3:GetObject')
    const rows = [policyRows, eksPolicyRows].flatMap(table => Object.values(table))
    const allowed = rows.flatMap(row => (row.types ? [] : row.actions))
    expect(allowed.filter(action => !used.has(action))).toEqual([])
  })
})
