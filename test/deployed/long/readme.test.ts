import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildBundlesOfSources } from '../../../infra/local/template/synth.ts'
import { TEMPLATES_STAGE } from '../../../infra/release/templates.ts'
import { blocksOf } from '../../support/programs/pages.ts'
import { openShell, type Shell } from '../../support/programs/shell.ts'
import { prepareDeployment } from '../cluster.ts'
import { releasedParts, releasedStackName, unpackRelease } from '../release.ts'
import { EmulatedStacks } from '../stacks.ts'

// Pastes the first block of the templates' README into a real bash, in the folder of the unpacked archive. `aws` is the
// AWS command line of this machine. It waits half a minute for a stack that is not complete at once, so this test runs
// only with LONG=true.

const BUCKET = 'assets-of-the-administrator'
const { emulator, account, cluster, key } = await prepareDeployment(TEMPLATES_STAGE)
let shell: Shell
beforeAll(async () => {
  // version 1 of `aws` reads only this name of the region
  const variables = { ...emulator.variables, AWS_DEFAULT_REGION: emulator.region }
  const { folder } = unpackRelease('release-of-readme', await buildBundlesOfSources())
  shell = openShell({ cwd: folder, variables, standIns: [] })
  const { status } = await shell.attempt('aws --version')
  if (status !== 0) throw new Error('the README of the templates is run by the AWS command line: install it')
})
afterAll(async () => {
  shell?.close()
  await emulator.stop()
})

test('the first block of the README deploys a cluster that serves logins', async () => {
  expect(await account.listFunctions()).toEqual([])
  const [block = ''] = blocksOf('infra/release/README.md')
  await shell.paste(`aws s3 mb s3://${BUCKET}`)
  await shell.paste(block.replace('<your bucket>', BUCKET))
  const descriptions = await new EmulatedStacks(emulator).describe()
  expect([...descriptions.keys()].sort()).toEqual(releasedParts.map(releasedStackName).sort())
  expect(descriptions.get(releasedStackName('data'))).toContain('<EnableTerminationProtection>true<')

  const { stdout } = await shell.paste(
    `aws cloudformation describe-stacks --stack-name ${releasedStackName('api')} --output json`,
  )
  const { Stacks } = JSON.parse(stdout) as {
    Stacks: [{ Outputs: { OutputKey: string; OutputValue: string }[] }]
  }
  await cluster.useOutputs(Object.fromEntries(Stacks[0].Outputs.map(one => [one.OutputKey, one.OutputValue])))
  await cluster.initialise()
  await cluster.createIamRole('dev')
  const login = await cluster.iamLogin('dev', key)
  expect(login.status, login.text).toBe(200)
})
