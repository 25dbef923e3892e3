import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLocalLicence } from '../../infra/local/lambda/licence.ts'
import { checkOutBaseline } from './baseline.ts'
import { type Assembly, bootstrap, countDifferentStacks, destroyAll, synthesiseAssembly } from './cdk.ts'
import { prepareDeployment } from './cluster.ts'

// Deploys the baseline into an emulated account, stores data, updates the deployment to this checkout, and removes the
// deployment. Each test continues from the state of the previous test.

const STAGE = 'dev'
const { LICENSE: license, LICENSE_PUBLIC_KEY: licensePublicKey } = createLocalLicence(STAGE, Date.now())
const settings = { stage: STAGE, license, licensePublicKey, deletionProtection: false }

/** tokens of a login before the update */
let token: string
let tables: string[]
let assembly: Assembly

const { emulator, account, cluster, key } = await prepareDeployment(STAGE)
beforeAll(async () => {
  const baseline = await synthesiseAssembly(emulator, 'baseline', settings, checkOutBaseline())
  await bootstrap(emulator, baseline)
  await cluster.deploy(baseline)
  await cluster.initialise()
  await cluster.createIamRole('dev')
  await cluster.done('POST', 'sys/replication/dr/primary/enable', {})
  await cluster.untilStatus('a primary', one => one.mode === 'primary' && one.state === 'running')
  token = (await cluster.iamLogin('dev', key)).body.auth.client_token
  tables = await account.listTables()
})
afterAll(() => emulator.stop())

describe('an update from the baseline', () => {
  test('succeeds, and leaves no difference from the templates', async () => {
    assembly = await synthesiseAssembly(emulator, 'updated', settings)
    await cluster.deploy(assembly)
    expect(await countDifferentStacks(emulator, assembly)).toBe(0)
  })

  test('keeps the tables, the role, the token of an earlier login, and the role of a primary', async () => {
    expect(tables).toHaveLength(3)
    expect(await account.listTables()).toEqual(tables)
    expect(await cluster.health()).toBe(200)
    expect((await cluster.done('GET', 'auth/cloud/role/dev')).data.token_ttl).toBe(3600)
    expect((await cluster.done('GET', 'auth/token/lookup-self', undefined, token)).data.policies).toEqual([
      'default',
    ])
    await cluster.untilStatus('a primary', one => one.mode === 'primary' && one.state === 'running')
  })

  test('serves logins', async () => {
    const login = await cluster.iamLogin('dev', key)
    expect(login.status, login.text).toBe(200)
  })
})

test('the removal without `deletionProtection` deletes functions, tables and the audit log', async () => {
  const { status, output } = await destroyAll(emulator, assembly)
  expect(status, output).toBe(0)
  expect(await account.listFunctions()).toEqual([])
  expect(await account.listTables()).toEqual([])
  // the emulator creates the log group of functions again for an invocation that ends after the deletion
  const isOfFunctions = (group: string) => /Logs[0-9A-F]{8}$/.test(group)
  expect((await account.listLogGroups()).filter(group => !isOfFunctions(group))).toEqual([])
})
