import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { Instance } from '@aws-sdk/client-ec2'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { buildFunctionBundles } from '../../infra/build/functions.ts'
import { checkoutRoot } from '../../infra/checkout.ts'
import { openProveAccount, type ProveAccount } from '../../infra/command/prove/account.ts'
import type { ProveCloud, WantedStack } from '../../infra/command/prove/cloud.ts'
import { listJournaledRuns } from '../../infra/command/prove/journal.ts'
import { PROBE_ROLES } from '../../infra/command/prove/probe-stack.ts'
import { probes } from '../../infra/command/prove/probes.ts'
import { type ProveOptions, prove } from '../../infra/command/prove/prove.ts'
import { createDocumentAuthority } from '../../infra/local/provider/documents/authority.ts'
import { signInstanceDocument } from '../../infra/local/provider/documents/document.ts'
import { createTemplatesApp, readTemplateEntries } from '../../infra/release/templates.ts'
import { call } from '../support/service/api.ts'
import { EmulatedAccount } from './account.ts'
import { type AdaptableTemplate, adaptTemplate, emulatorAdaptationNames } from './adaptations.ts'
import { EMULATED, type Emulator, startEmulator } from './emulator.ts'

// Runs `cloud-auth prove` in an emulated AWS account, with the templates of a release that is made by this test.

const RELEASE = `${checkoutRoot}.build/deployed/prove-release`

let emulator: Emulator
let account: EmulatedAccount
let instance: Instance
let home: string
let printed: string
let said: string[]
let signal: (name: string) => void

/** Writes the release's templates, as the emulator accepts them, and the functions' code. */
async function makeRelease(): Promise<void> {
  const work = `${RELEASE}-work`
  for (const folder of [RELEASE, work]) rmSync(folder, { recursive: true, force: true })
  await buildFunctionBundles(`${work}/functions`)
  for (const { name, bytes } of readTemplateEntries(
    createTemplatesApp(`${work}/functions`, `${work}/templates`).synth(),
  )) {
    const isTemplate = name.endsWith('.template.json')
    const adapted = () =>
      JSON.stringify(adaptTemplate(JSON.parse(Buffer.from(bytes).toString()) as AdaptableTemplate), null, 1)
    mkdirSync(dirname(`${RELEASE}/${name}`), { recursive: true })
    writeFileSync(`${RELEASE}/${name}`, isTemplate ? adapted() : bytes)
  }
}

/**
 * Replaces the instance in the template of the probes by an instance that the test has started, because the emulator's
 * CloudFormation knows no instances. Names the image, because the emulator lacks AWS's public parameters. Gives the
 * function the credentials of a user, because the emulator runs functions with the account's own credentials.
 */
async function adaptProbe(given: unknown): Promise<unknown> {
  const stack = given as WantedStack
  if (typeof stack?.template !== 'string' || !stack.name.endsWith('-probe')) return given
  const template = JSON.parse(stack.template)
  template.Parameters.Image = { Type: 'String', Default: instance.ImageId }
  template.Outputs.Instance.Value = instance.InstanceId
  delete template.Resources.Instance
  const { Code } = template.Resources.Function.Properties
  const { accessKeyId, secretAccessKey } = await account.createUserKey(stack.name)
  const variables = JSON.stringify({ AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey })
  Code.ZipFile = Code.ZipFile.replace("require('node:process').env", () => variables)
  return { ...stack, template: JSON.stringify(template) }
}

beforeAll(async () => {
  await makeRelease()
  emulator = await startEmulator(emulatorAdaptationNames)
  account = new EmulatedAccount(emulator)
  instance = await account.runInstance()
  home = mkdtempSync(`${tmpdir()}/prove-`)
  for (const [name, value] of Object.entries(emulator.variables))
    if (name.startsWith('AWS_')) vi.stubEnv(name, value)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await emulator?.stop()
  if (home) rmSync(home, { recursive: true })
})
beforeEach(() => {
  printed = ''
  said = []
})

const options: ProveOptions = {
  region: EMULATED.region,
  profile: undefined,
  release: RELEASE,
  limit: undefined,
  subnet: undefined,
  isDry: false,
  isCleanup: false,
  json: true,
  showsAccount: false,
  words: [],
}

/** Returns the emulator's own address of an API, because the API's name has no DNS entry. */
const reach = (address: string): string => {
  const [id = ''] = new URL(address).host.split('.')
  return `${emulator.url}/_aws/execute-api/${id}/$default/v1`
}

let base = ''
let root = ''

/**
 * Plays the instance, because the emulator runs no instance: configures a certificate of an authority of the test's
 * own, and logs in with a document.
 */
async function playInstance(): Promise<void> {
  const authority = await createDocumentAuthority()
  const document = JSON.stringify({
    accountId: EMULATED.account,
    architecture: 'arm64',
    availabilityZone: instance.Placement?.AvailabilityZone,
    imageId: instance.ImageId,
    instanceId: instance.InstanceId,
    instanceType: instance.InstanceType,
    pendingTime: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, ''),
    privateIp: instance.PrivateIpAddress,
    region: EMULATED.region,
    version: '2017-09-30',
  })
  const pkcs7 = signInstanceDocument(document, authority, Date.now()).rsa2048.replaceAll('\n', '')
  const aws_public_cert = Buffer.from(authority.rsa2048.certificate).toString('base64')
  const certificate = { aws_public_cert, type: 'pkcs7' }
  const written = await call(base, 'POST', '/auth/cloud/config/certificate/test', certificate, {
    token: root,
  })
  expect(written.status, written.text).toBeLessThan(300)
  // the function has the credentials of a user instead of its role
  const users = { bound_iam_principal_arn: [`arn:aws:iam::${EMULATED.account}:*`] }
  const changed = await call(base, 'POST', `/auth/cloud/role/${PROBE_ROLES.iam}`, users, { token: root })
  expect(changed.status, changed.text).toBeLessThan(300)
  const login = await call(base, 'POST', '/auth/cloud/login', { role: PROBE_ROLES.ec2, pkcs7 }, { token: '' })
  expect(login.status, login.text).toBe(200)
}

/** Opens the emulated account. The test sees the root token, plays the instance, and can make calls fail. */
async function open(
  before: (call: string) => void,
  ...given: Parameters<typeof openProveAccount>
): Promise<ProveAccount> {
  const opened = await openProveAccount(...given)
  let hasPlayed = false
  const watched = Object.fromEntries(
    Object.entries(opened.cloud).map(([name, send]) => [
      name,
      async (...words: unknown[]) => {
        const first = words[0] as string | { name: string }
        before(`${name} ${typeof first === 'string' ? first : first.name}`)
        const result = await (send as (...all: unknown[]) => Promise<unknown>)(
          ...(await Promise.all(words.map(adaptProbe))),
        )
        const body = (result as { body?: string } | undefined)?.body
        if (name === 'invokeFunction' && body?.includes('root_token')) root = JSON.parse(body).root_token
        const { status, outputs } = (result ?? {}) as { status?: string; outputs?: Record<string, string> }
        if (status === 'CREATE_COMPLETE' && outputs?.['Instance'] && !hasPlayed) {
          hasPlayed = true
          await playInstance()
        }
        return result
      },
    ]),
  ) as unknown as ProveCloud
  return { ...opened, cloud: watched }
}

const start = (more: Partial<ProveOptions> = {}, before: (call: string) => void = () => undefined) =>
  prove(
    { ...options, ...more },
    {
      environment: { HOME: home, AWS_ENDPOINT_URL: emulator.url },
      connection: { timeoutMs: 60_000 },
      print: text => {
        printed += text
      },
      say: text => void said.push(text),
      confirm: async () => true,
      onSignal: called => {
        signal = called
      },
      open: (...given) => open(before, ...given),
      reach: address => {
        base = reach(address)
        return base
      },
    },
  )

/** Expects that the account has nothing of a run. */
async function expectEmptyAccount(): Promise<void> {
  expect(await account.listFunctions()).toEqual([])
  expect(await account.listTables()).toEqual([])
  // functions create these log groups, because the emulator allows what their roles do not allow
  const byFunctions = /onauditentriesLogs|^\/aws\/lambda\//
  expect((await account.listLogGroups()).filter(name => !byFunctions.test(name))).toEqual([])
  expect(listJournaledRuns(`${home}/.local/state/cloud-auth`)).toEqual([])
}

/** Throws at the first call with a name that matches. */
const failAt = (pattern: RegExp) => {
  let hasFailed = false
  return (call: string): void => {
    if (hasFailed || !pattern.test(call)) return
    hasFailed = true
    throw new Error('a fault of the test')
  }
}

const PROGRAM = `${checkoutRoot}infra/command/main.ts`

/** Starts the command as a program. */
const spawnProve = (words: readonly string[]) =>
  spawn(process.execPath, [PROGRAM, 'prove', '--yes', ...words], {
    env: { ...emulator.variables, HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** Waits until a program prints a text on standard error, or ends. */
async function awaitText(child: ReturnType<typeof spawnProve>, text: string): Promise<void> {
  let output = ''
  for await (const chunk of child.stderr) {
    output += String(chunk)
    if (output.includes(text)) return
  }
  throw new Error(`the program ended:\n${output}`)
}

describe('cloud-auth prove', () => {
  test('deploys a release, checks its claims, and leaves only the scheduled key', async () => {
    const end = await start()
    const report = JSON.parse(printed)
    expect(report.stopped, said.join('\n')).toBeUndefined()
    const resultOf = (wanted: string) =>
      report.rows
        .filter(({ result }: { result: string }) => result === wanted)
        .map(({ id, note }: { id: string; note: string }) => `${id}: ${note}`)
    // the emulator's HTTP API forwards LIST
    expect(resultOf('broken')).toEqual(['list: LIST answered 200'])
    expect(resultOf('not asked')).toContain('cold-start: the log has no start of a function')
    expect(resultOf('held').length, printed).toBe(Object.keys(probes).length - 2)
    expect(end).toBe('unwell')
    expect(report.remains).toEqual([expect.objectContaining({ what: expect.stringMatching(/^KMS key/) })])
    await expectEmptyAccount()
  })

  test('refuses a limit above 5 USD before any call', async () => {
    await expect(start({ limit: '6' })).rejects.toMatchObject({ exit: 'usage' })
  })
})

describe('after a fault', () => {
  test.each([
    'createStack .*-data',
    'createStack .*-api',
    'createStack .*-workers',
    'createStack .*-probe',
    'putObject',
    'invokeFunction .*init',
    'listStackResources .*-api',
  ])('at %s nothing is left', async point => {
    expect(await start({}, failAt(new RegExp(`^${point}`)))).toBe('refused')
    expect(JSON.parse(printed).stopped).toBe('a fault of the test')
    await expectEmptyAccount()
  })

  test('SIGINT twice leaves nothing', async () => {
    const end = await start({}, call => {
      if (/^createStack .*-api$/.test(call)) signal('SIGINT')
      if (/^deleteStack .*-data$/.test(call)) signal('SIGINT')
    })
    expect(end).toBe('interrupted')
    await expectEmptyAccount()
  })

  test('lost credentials leave a journal, and a cleanup leaves nothing', async () => {
    let isLost = false
    const end = await start({}, call => {
      isLost ||= /^createStack .*-workers$/.test(call)
      if (isLost) throw new Error('ExpiredToken')
    })
    expect(end).toBe('refused')
    expect(await account.listTables()).not.toEqual([])
    expect(await start({ isCleanup: true })).toBe('done')
    await expectEmptyAccount()
  })

  test('SIGKILL leaves a journal, and a cleanup by the program leaves nothing', async () => {
    const child = spawnProve(['--region', EMULATED.region, '--release', RELEASE])
    const ended = once(child, 'exit')
    await awaitText(child, '-api\n')
    child.kill('SIGKILL')
    await ended
    expect(listJournaledRuns(`${home}/.local/state/cloud-auth`)).toHaveLength(1)
    const cleanup = spawnProve(['--cleanup'])
    expect(await once(cleanup, 'exit')).toEqual([0, null])
    await expectEmptyAccount()
  })
})
