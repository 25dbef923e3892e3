import { describe, expect, onTestFinished, test } from 'vitest'
import { bootstrap, countDifferentStacks, destroyAll, synthesiseAssembly } from '../cdk.ts'
import { prepareDeployment } from '../cluster.ts'
import { settingGroups } from '../settings.ts'

// Deploys each group of settings into an emulated account, logs in, and removes the deployment.

describe('the settings of a group', () => {
  test.each(Object.entries(settingGroups))(
    '%s are deployed, and the cluster serves logins',
    async (stage, group) => {
      const { emulator, account, cluster, key } = await prepareDeployment(stage)
      onTestFinished(() => emulator.stop())
      const settings = { stage, deletionProtection: false, ...group }
      const assembly = await synthesiseAssembly(emulator, `settings-${stage}`, settings)
      await bootstrap(emulator, assembly)
      await cluster.deploy(assembly)
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
