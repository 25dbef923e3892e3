import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WorkloadCredentials } from '../../../infra/command/login/signed-login.ts'
import { EmulatedAccount } from '../account.ts'
import { emulatorAdaptationNames } from '../adaptations.ts'
import { bootstrap, countDifferentStacks, destroyAll, synthesiseAssembly } from '../cdk.ts'
import { DeployedCluster } from '../cluster.ts'
import { type Emulator, startEmulator } from '../emulator.ts'
import { settingGroups } from '../settings.ts'
import { sendToService } from '../stacks.ts'

// Deploys each group of settings into an emulated account, logs in, and removes the deployment.

let emulator: Emulator
let account: EmulatedAccount
let key: WorkloadCredentials
beforeAll(async () => {
  emulator = await startEmulator(emulatorAdaptationNames)
  account = new EmulatedAccount(emulator)
  key = await account.createUserKey('alice')
})
afterAll(() => emulator?.stop())

/** Returns the id of the only API, because a name of the cluster's own may hide the id in the output `Address`. */
async function findApi(): Promise<string> {
  const { items } = (await (await sendToService(emulator, 'apigateway', '/v2/apis')).json()) as {
    items: { apiId: string }[]
  }
  expect(items).toHaveLength(1)
  return items[0]?.apiId ?? ''
}

describe('the settings of a group', () => {
  test.each(Object.entries(settingGroups))(
    '%s are deployed, and the cluster serves logins',
    async (stage, group) => {
      const settings = { stage, deletionProtection: false, ...group }
      const assembly = await synthesiseAssembly(emulator, `settings-${stage}`, settings)
      await bootstrap(emulator, assembly)
      const cluster = new DeployedCluster(emulator, account, stage)
      await cluster.deploy(assembly)
      cluster.useApi(await findApi())
      expect(await countDifferentStacks(emulator, assembly)).toBe(0)
      await cluster.initialise()
      await cluster.createIamRole('dev')
      const login = await cluster.iamLogin('dev', key)
      expect(login.status, login.text).toBe(200)
      const { status, output } = await destroyAll(emulator, assembly)
      expect(status, output).toBe(0)
      expect(await account.listFunctions()).toEqual([])
    },
  )
})
