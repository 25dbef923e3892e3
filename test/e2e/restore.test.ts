import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ofType, resourcesOf } from '../infra/synthesised.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { openShell, type Shell } from '../support/programs/shell.ts'

// Runs docs/do/restore.md from top to bottom in a real bash. `aws` is a test program that stores a stage
// and rules as AWS does, and records other calls. The template provides the stage's initial state.

const PAGE = 'docs/do/restore.md'
const folder = mkdtempSync(`${tmpdir()}/cloud-auth-restore-`)
const RULES = ['tidy', 'pull', 'journal', 'workflows']

const AWS = `
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
const given = process.argv.slice(2)
const line = given.join(' ')
const of = name => given[given.indexOf(name) + 1] ?? ''
const stage = () => JSON.parse(readFileSync('${folder}/stage', 'utf8'))
const settings = text => text.startsWith('{') ? JSON.parse(text)
  : Object.fromEntries(text.split(',').map(one => one.split('=')).map(([name, value]) => [name, Number(value)]))
appendFileSync('${folder}/calls', line + '\\n')
if (line.includes('get-stage')) process.stdout.write(JSON.stringify(stage()))
if (line.includes('update-stage')) {
  const { DefaultRouteSettings, RouteSettings } = stage()
  const changed = { ...RouteSettings }
  for (const [key, one] of Object.entries(settings(of('--route-settings')))) changed[key] = { ...changed[key], ...one }
  const base = { ...DefaultRouteSettings, ...settings(of('--default-route-settings')) }
  writeFileSync('${folder}/stage', JSON.stringify({ DefaultRouteSettings: base, RouteSettings: changed }))
}
if (line.includes("ApiGatewayV2::Api'")) process.stdout.write('a1b2c3\\n')
if (line.includes("Events::Rule'")) process.stdout.write('${RULES.join('\\t')}\\n')
if (line.includes("StateMachine'")) process.stdout.write('one\\ttwo\\n')
if (line.includes("GlobalTable'"))
  process.stdout.write('cloud-auth-prod-data-Ceremony1-X\\tcloud-auth-prod-data-Cluster2-X\\tcloud-auth-prod-data-Data3-X\\n')
`

const [[, { Properties }] = ['', { Properties: {} }]] = ofType(
  resourcesOf({ stage: 'prod' }),
  'AWS::ApiGatewayV2::Stage',
)
const { DefaultRouteSettings, RouteSettings } = Properties
const open = { DefaultRouteSettings, RouteSettings }
const stage = () => JSON.parse(readFileSync(`${folder}/stage`, 'utf8'))
const calls = (words: string): string[] =>
  readFileSync(`${folder}/calls`, 'utf8')
    .split('\n')
    .filter(line => line.includes(words))

let shell: Shell
beforeAll(() => {
  writeFileSync(`${folder}/stage`, JSON.stringify(open))
  writeFileSync(`${folder}/calls`, '')
  shell = openShell({ cwd: folder, programs: { aws: AWS } })
})
afterAll(() => {
  shell?.close()
  rmSync(folder, { recursive: true, force: true })
})
const follow = async (heading: string) => {
  for (const block of blocksOf(PAGE, heading)) await shell.paste(block)
}

test('docs/do/restore.md reopens the API stage and the rules that it closed, even when a block was pasted twice', async () => {
  for (let times = 0; times < 2; times++) {
    await follow('1. Stop writing')
    const closed = { ThrottlingRateLimit: 0, ThrottlingBurstLimit: 0 }
    expect(stage().DefaultRouteSettings).toMatchObject(closed)
    expect(Object.keys(stage().RouteSettings)).toEqual(Object.keys(RouteSettings))
    for (const one of Object.values(stage().RouteSettings)) expect(one).toMatchObject(closed)
  }
  await follow('2. Restore both tables to the same second')
  await follow('3. Set again what a restore drops')
  await follow('5. Open again')
  expect(stage()).toEqual(open)
  for (const verb of ['disable-rule', 'enable-rule'])
    expect(new Set(calls(verb).map(line => line.split(' ').at(-1)))).toEqual(new Set(RULES))
})

test('docs/do/restore.md restores each table from its source, and configures every restored table alike', () => {
  const restored = calls('restore-table-to-point-in-time').map(line =>
    /--source-table-name (\S+) --target-table-name (\S+)/.exec(line)?.slice(1),
  )
  expect(restored).toEqual([
    ['cloud-auth-prod-data-Data3-X', 'cloud-auth-prod-data-20260731'],
    ['cloud-auth-prod-data-Cluster2-X', 'cloud-auth-prod-cluster-20260731'],
  ])
  for (const words of ['update-time-to-live', 'update-continuous-backups', '--deletion-protection-enabled'])
    expect(calls(words), words).toHaveLength(2)
  expect(calls('--stream-specification')).toEqual([
    expect.stringContaining('cloud-auth-prod-cluster-20260731'),
  ])
})
