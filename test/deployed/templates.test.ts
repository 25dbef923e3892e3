import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { readEntries } from '../../infra/release/archives.ts'
import { TEMPLATES_STAGE } from '../../infra/release/templates.ts'
import { prepareDeployment } from './cluster.ts'
import { expectOnlyAdaptations } from './expectations.ts'
import {
  changeBundles,
  releasedParts,
  releasedStackName,
  type UnpackedRelease,
  unpackRelease,
} from './release.ts'
import { EmulatedStacks } from './stacks.ts'

// Deploys the release's templates into an emulated account that has no bootstrap stack, by the steps of the templates'
// README (infra/release/README.md). Each test continues from the state of the previous test.

const BUCKET = 'assets-of-the-administrator'
const PREFIX = 'cloud-auth/'
const CLUSTER_NAME = 'auth-of-the-test'
const { LICENSE: License, LICENSE_PUBLIC_KEY: LicensePublicKey } = createLocalLicence('prod', Date.now())

/** The release, and a release with other code. */
let release: UnpackedRelease
let earlier: UnpackedRelease

const { emulator, account, cluster, key } = await prepareDeployment(TEMPLATES_STAGE)
const stacks = new EmulatedStacks(emulator)

/** Uploads the functions' code and the templates of a release, and creates or updates all stacks. */
async function deployRelease({ folder, tested }: UnpackedRelease, values: Record<string, string>) {
  for (const { name, bytes } of readEntries(`${folder}/assets`))
    await stacks.put(`${BUCKET}/${PREFIX}${name}`, Uint8Array.from(bytes))
  for (const part of releasedParts) {
    const place = `${BUCKET}/cloud-auth-templates/${part}.template.json`
    await stacks.put(place, Uint8Array.from(readFileSync(`${folder}/${part}.template.json`)))
    const template = { url: `${emulator.url}/${place}`, parameters: Object.keys(tested[part].Parameters) }
    const outputs = await stacks.deploy(releasedStackName(part), template, values)
    if (part === 'api') await cluster.useOutputs(outputs)
  }
}

/** Returns the hash of each function's code, by the function's name. */
async function readCodeHashes(): Promise<Map<string, string>> {
  const functions = await account.listFunctions()
  return new Map(functions.map(one => [one.FunctionName ?? '', one.CodeSha256 ?? '']))
}

beforeAll(async () => {
  const bundles = await buildBundlesOfSources()
  release = unpackRelease('release', bundles)
  earlier = unpackRelease('earlier-release', changeBundles(bundles))
  await stacks.put(BUCKET)
  await deployRelease(earlier, { AssetsBucket: BUCKET, AssetsPrefix: PREFIX, ClusterName: CLUSTER_NAME })
  await stacks.protect(releasedStackName('data'), true)
})
afterAll(() => emulator.stop())

async function expectIamLogin(): Promise<void> {
  const login = await cluster.iamLogin('dev', key)
  expect(login.status, login.text).toBe(200)
  expect(login.body.auth.metadata).toMatchObject({ auth_type: 'iam' })
}

describe('the templates of the release', () => {
  test('differ from the tested templates only in resources that a row of the adaptations names', () =>
    expectOnlyAdaptations(release.released, release.tested))

  test('are deployed in an account without a bootstrap stack and without a bucket of the CDK', async () => {
    expect([...(await stacks.describe()).keys()].sort()).toEqual(releasedParts.map(releasedStackName).sort())
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

describe('an update to a release with other code', () => {
  test('changes the code of every function, and keeps the tables and the data', async () => {
    const [before, tables] = [await readCodeHashes(), await account.listTables()]
    const token = (await cluster.iamLogin('dev', key)).body.auth.client_token
    await deployRelease(release, {})
    const after = await readCodeHashes()
    expect([...after.keys()].sort()).toEqual([...before.keys()].sort())
    expect([...after].filter(([name, hash]) => before.get(name) === hash)).toEqual([])
    expect(await account.listTables()).toEqual(tables)
    expect(await cluster.health()).toBe(200)
    expect((await cluster.done('GET', 'auth/token/lookup-self', undefined, token)).data.policies).toEqual([
      'default',
    ])
    await expectIamLogin()
  })
})

describe('an update of parameters', () => {
  const readHealth = () => cluster.done('GET', 'sys/health', undefined, '')

  test('gives the cluster a licence, does not rename the cluster, and keeps the data', async () => {
    const { license, cluster_name } = await readHealth()
    expect([license, cluster_name]).toEqual([undefined, CLUSTER_NAME])
    expect((await cluster.api('POST', 'sys/replication/dr/primary/enable', {})).status).toBe(404)
    const tables = await account.listTables()
    await deployRelease(release, { License, LicensePublicKey, ClusterName: 'another-name' })
    expect(await readHealth()).toMatchObject({ cluster_name: CLUSTER_NAME, license: { state: 'autoloaded' } })
    expect(await account.listTables()).toEqual(tables)
    await expectIamLogin()
  })

  test('hides the licence in the description of the stack', async () => {
    expect((await stacks.describe()).get(releasedStackName('api'))).not.toContain(License)
  })

  test('lets the cluster become a primary', async () => {
    await cluster.done('POST', 'sys/replication/dr/primary/enable', {})
    await cluster.untilStatus('a primary', one => one.mode === 'primary' && one.state === 'running')
  })
})

describe('the deletion', () => {
  test('of the stack `data` is refused while its termination protection is on', async () => {
    await stacks.delete(releasedStackName('workers'))
    await stacks.delete(releasedStackName('api'))
    expect(await account.listFunctions()).toEqual([])
    await expect(stacks.delete(releasedStackName('data'))).rejects.toThrow('TerminationProtection is enabled')
  })

  test('of the stack `data` keeps the tables of the data', async () => {
    await stacks.protect(releasedStackName('data'), false)
    await stacks.delete(releasedStackName('data'))
    expect((await stacks.describe()).size).toBe(0)
    const tables = await account.listTables()
    expect(tables).toEqual([expect.stringMatching(/-Cluster/), expect.stringMatching(/-Data/)])
  })
})
