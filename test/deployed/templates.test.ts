import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import type { WorkloadCredentials } from '../../infra/command/login/signed-login.ts'
import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { createTemplatesApp, readTemplateEntries, TEMPLATES_STAGE } from '../../infra/release/templates.ts'
import { EmulatedAccount } from './account.ts'
import { type AdaptableTemplate, adaptTemplate, emulatorAdaptationNames } from './adaptations.ts'
import { DeployedCluster } from './cluster.ts'
import { type Emulator, startEmulator } from './emulator.ts'
import { expectOnlyAdaptations } from './expectations.ts'
import { EmulatedStacks, type UploadedTemplate } from './stacks.ts'

// Deploys the release's templates into an emulated account that has no bootstrap stack, by the steps of the templates'
// README (infra/release/README.md). Each test continues from the state of the previous test.

const BUCKET = 'assets-of-the-administrator'
const PREFIX = 'cloud-auth/'
const CLUSTER_NAME = 'auth-of-the-test'
const { LICENSE: License, LICENSE_PUBLIC_KEY: LicensePublicKey } = createLocalLicence('prod', Date.now())
/** in the order of their creation */
const parts = ['data', 'api', 'workers'] as const
const stackOf = (part: string): string => `cloud-auth-${TEMPLATES_STAGE}-${part}`

interface ReleasedTemplate extends AdaptableTemplate {
  Parameters: object
}
const released: Record<string, ReleasedTemplate> = {}
const tested: Record<string, ReleasedTemplate> = {}
const uploaded: Record<string, UploadedTemplate> = {}

let emulator: Emulator
let account: EmulatedAccount
let stacks: EmulatedStacks
let cluster: DeployedCluster
let key: WorkloadCredentials

/** Uploads the templates and the functions' code. The templates are adapted. */
async function uploadRelease(): Promise<void> {
  const folder = `${checkoutRoot}.build/deployed/templates`
  rmSync(folder, { recursive: true, force: true })
  await stacks.put(BUCKET)
  for (const { name, bytes } of readTemplateEntries(
    createTemplatesApp(await buildBundlesOfSources(), folder).synth(),
  )) {
    const [, part] = /^(\w+)\.template\.json$/.exec(name) ?? []
    if (part === undefined) {
      await stacks.put(`${BUCKET}/${PREFIX}${name.replace('assets/', '')}`, Uint8Array.from(bytes))
      continue
    }
    const template = JSON.parse(Buffer.from(bytes).toString()) as ReleasedTemplate
    released[part] = template
    tested[part] = adaptTemplate(template)
    const place = `${BUCKET}/cloud-auth-templates/${name}`
    await stacks.put(place, Uint8Array.from(Buffer.from(JSON.stringify(tested[part]))))
    uploaded[part] = { url: `${emulator.url}/${place}`, parameters: Object.keys(template.Parameters) }
  }
}

/** Creates or updates all stacks. */
async function deployStacks(values: Record<string, string>): Promise<void> {
  for (const part of parts) {
    const outputs = await stacks.deploy(stackOf(part), uploaded[part] as UploadedTemplate, values)
    if (part === 'api') cluster.useOutputs(outputs)
  }
}

beforeAll(async () => {
  emulator = await startEmulator(emulatorAdaptationNames)
  account = new EmulatedAccount(emulator)
  stacks = new EmulatedStacks(emulator)
  cluster = new DeployedCluster(emulator, account, TEMPLATES_STAGE)
  key = await account.createUserKey('alice')
  await uploadRelease()
  await deployStacks({ AssetsBucket: BUCKET, AssetsPrefix: PREFIX, ClusterName: CLUSTER_NAME })
  await stacks.protect(stackOf('data'), true)
})
afterAll(() => emulator?.stop())

async function expectIamLogin(): Promise<void> {
  const login = await cluster.iamLogin('dev', key)
  expect(login.status, login.text).toBe(200)
  expect(login.body.auth.metadata).toMatchObject({ auth_type: 'iam' })
}

describe('the templates of the release', () => {
  test('differ from the tested templates only in resources that a row of the adaptations names', () =>
    expectOnlyAdaptations(released, tested))

  test('are deployed in an account without a bootstrap stack and without a bucket of the CDK', async () => {
    expect([...(await stacks.describe()).keys()].sort()).toEqual(parts.map(stackOf).sort())
  })

  test('give a cluster that an invocation of the function `InitFunction` initialises', async () => {
    expect(await cluster.health()).toBe(501)
    expect(await cluster.initialise()).toHaveLength(5)
    expect(await cluster.health()).toBe(200)
  })

  test('give a cluster that serves iam logins', async () => {
    await cluster.createIamRole('dev')
    await expectIamLogin()
  })
})

describe('an update of parameters', () => {
  const readHealth = () => cluster.done('GET', 'sys/health', undefined, '')

  test('gives the cluster a licence, and keeps the other parameters and the data', async () => {
    const { license, cluster_name } = await readHealth()
    expect([license, cluster_name]).toEqual([undefined, CLUSTER_NAME])
    expect((await cluster.api('POST', 'sys/replication/dr/primary/enable', {})).status).toBe(404)
    const tables = await account.listTables()
    await deployStacks({ License, LicensePublicKey })
    expect(await readHealth()).toMatchObject({ cluster_name: CLUSTER_NAME, license: { state: 'autoloaded' } })
    expect(await account.listTables()).toEqual(tables)
    await expectIamLogin()
  })

  test('hides the licence in the description of the stack', async () => {
    expect((await stacks.describe()).get(stackOf('api'))).not.toContain(License)
  })

  test('does not rename the initialised cluster', async () => {
    await deployStacks({ ClusterName: 'another-name' })
    expect(await readHealth()).toMatchObject({ cluster_name: CLUSTER_NAME })
  })

  test('lets the cluster become a primary', async () => {
    await cluster.done('POST', 'sys/replication/dr/primary/enable', {})
    await cluster.untilStatus('a primary', one => one.mode === 'primary' && one.state === 'running')
  })
})

describe('the deletion', () => {
  test('of the stack `data` is refused while its termination protection is on', async () => {
    await stacks.delete(stackOf('workers'))
    await stacks.delete(stackOf('api'))
    expect(await account.listFunctions()).toEqual([])
    await expect(stacks.delete(stackOf('data'))).rejects.toThrow('TerminationProtection is enabled')
  })

  test('of the stack `data` keeps the tables of the data', async () => {
    await stacks.protect(stackOf('data'), false)
    await stacks.delete(stackOf('data'))
    expect((await stacks.describe()).size).toBe(0)
    const tables = await account.listTables()
    expect(tables).toEqual([expect.stringMatching(/-Cluster/), expect.stringMatching(/-Data/)])
  })
})
