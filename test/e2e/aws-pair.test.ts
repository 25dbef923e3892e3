import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PairPlan, readPairPlanFile } from '../../infra/pair/settings.ts'
import { requireUnexpiredLicence } from '../../shared/api/licence.ts'
import { initFields } from '../../shared/cluster/init.ts'
import { toHttpRequest } from '../../shared/http/events.ts'
import { ofType, resourcesOf, stacksOf } from '../infra/synthesised.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { openShell, type Shell } from '../support/programs/shell.ts'

// Runs docs/do/aws-pair.md from top to bottom in a real bash without an AWS account. `aws`, `npx`, `npm`
// and `curl` are test programs that record their arguments and answer as AWS does.

const PAGE = 'docs/do/aws-pair.md'
const folder = mkdtempSync(`${tmpdir()}/cloud-auth-aws-pair-`)

/**
 * Returns the text of a program that records its arguments, and answers by the first entry whose words match.
 */
const noting = (name: string, answers: Readonly<Record<string, string>>): string => `
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
const given = process.argv.slice(2)
const { PRIMARY_TOKEN = '', SECONDARY_TOKEN = '' } = process.env
const read = given.includes('file:///dev/stdin') ? readFileSync(0, 'utf8') : ''
appendFileSync('${folder}/calls', JSON.stringify({ name: '${name}', given, tokens: [PRIMARY_TOKEN, SECONDARY_TOKEN], read }) + '\\n')
const line = given.join(' ')
const answers = ${JSON.stringify(answers)}
const [, answer = ''] = Object.entries(answers).find(([words]) => line.includes(words)) ?? []
if (line.includes('lambda invoke')) writeFileSync(given.at(-1), answer)
else process.stdout.write(answer)
`

const initialised = JSON.stringify({
  statusCode: 200,
  body: JSON.stringify({ root_token: 'hvs.root', recovery_keys: ['a', 'b', 'c', 'd', 'e'] }),
})
const ANSWERS = {
  'sns create-topic': 'arn:aws:sns:us-east-1:111122223333:cloud-auth-prod\n',
  'get-caller-identity': '111122223333\n',
  'describe-stacks': 'cloud-auth-prod-api-init\n',
  'lambda invoke': initialised,
}

interface Call {
  name: string
  given: string[]
  tokens: string[]
  read: string
}
const calls = (): Call[] =>
  readFileSync(`${folder}/calls`, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Call)
const about = (words: string): Call[] => calls().filter(({ given }) => given.join(' ').includes(words))

let shell: Shell
/** the folder of the page's files */
let kept = ''
beforeAll(async () => {
  writeFileSync(`${folder}/calls`, '')
  const programs = {
    aws: noting('aws', ANSWERS),
    npx: noting('npx', {}),
    npm: noting('npm', {}),
    curl: noting('curl', {}),
  }
  shell = openShell({ cwd: folder, programs })
  for (const block of blocksOf(PAGE)) await shell.paste(block)
  kept = await shell.value('KEPT')
})
afterAll(() => {
  shell?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Reads the pair from the file that the page creates. */
const pairOfPage = (): PairPlan => readPairPlanFile(`${kept}/pair.json`)
const settingsOf = (index: 0 | 1) => pairOfPage()[index].rawSettings

describe('docs/do/aws-pair.md', () => {
  test('bootstraps both regions, and deploys a valid pair with one command', () => {
    expect(about('cdk bootstrap').map(({ given }) => given.at(-1))).toEqual([
      'aws://111122223333/us-east-1',
      'aws://111122223333/us-west-2',
    ])
    expect(about('run deploy:pair').map(({ given }) => given.slice(0, 3))).toEqual([
      ['run', 'deploy:pair', '--'],
      ['run', 'deploy:pair', '--'],
    ])
    for (const [{ settings, address }, name] of [
      [pairOfPage()[0], 'east'],
      [pairOfPage()[1], 'west'],
    ] as const) {
      expect(address).toBe(`https://auth-${name}.example.com`)
      expect(settings).toMatchObject({ stage: 'prod', clusterName: name, apiAddress: address })
      const { license: text = '', licensePublicKey: publicKey = '' } = settings
      expect(requireUnexpiredLicence({ text, publicKey }, Date.now())).toBeUndefined()
    }
  })

  test('joins west with both root tokens, which only that command receives', () => {
    const [deployed, joined] = about('run deploy:pair')
    expect(deployed?.tokens).toEqual(['', ''])
    expect(joined?.given.slice(-2)).toEqual(['--join', 'west'])
    expect(joined?.tokens).toEqual(['hvs.root', 'hvs.root'])
  })

  test('gives every alarm an action, and functions of replication reserved concurrency', () => {
    const resources = resourcesOf(settingsOf(0))
    for (const [id, { Properties }] of ofType(resources, 'AWS::CloudWatch::Alarm'))
      expect(Properties.AlarmActions, id).toEqual(['arn:aws:sns:us-east-1:111122223333:cloud-auth-prod'])
    const reserved = ofType(resources, 'AWS::Lambda::Function').filter(
      ([, one]) => one.Properties.ReservedConcurrentExecutions !== undefined,
    )
    expect(reserved).toHaveLength(5)
  })

  test('looks up only an existing stack and outputs', () => {
    const api = stacksOf(settingsOf(0)).get('cloud-auth-prod-api')
    const looked = about('describe-stacks').flatMap(({ given }) => given.join(' ').match(/'\w+'/g) ?? [])
    expect(new Set(looked)).toEqual(new Set(["'Target'", "'InitFunction'", "'CeremonyFunction'"]))
    for (const name of looked) expect(Object.keys(api?.Outputs ?? {})).toContain(name.slice(1, -1))
    for (const { given } of about('describe-stacks')) expect(given).toContain('cloud-auth-prod-api')
  })

  test('gives each API its own domain with a certificate of its region', () => {
    for (const index of [0, 1] as const) {
      const names = ofType(resourcesOf(settingsOf(index)), 'AWS::ApiGatewayV2::DomainName')
      const { address, region } = pairOfPage()[index]
      expect(names.map(([, one]) => `https://${one.Properties.DomainName}`)).toEqual([address])
      expect(JSON.stringify(names)).toContain(`arn:aws:acm:${region}:`)
    }
    expect(about('uninitcode=200').map(({ given }) => given.at(-1))).toEqual([
      'https://auth-east.example.com/v1/sys/health?uninitcode=200',
      'https://auth-west.example.com/v1/sys/health?uninitcode=200',
    ])
  })

  test('initialises each cluster with a valid event', () => {
    const invoked = about('lambda invoke')
    expect(invoked.map(({ given }) => given[1])).toEqual(['us-east-1', 'us-west-2'])
    for (const { given, read } of invoked) {
      expect(given).toContain('cloud-auth-prod-api-init')
      const { method, path, body } = toHttpRequest(JSON.parse(read), 0)
      expect([method, path]).toEqual(['PUT', '/v1/sys/init'])
      for (const name of Object.keys(JSON.parse(body))) expect(Object.keys(initFields)).toContain(name)
    }
  })

  test('sets the variables of the runbooks', async () => {
    const wanted = [...(blocksOf('README', 'On AWS')[0] ?? '').matchAll(/^(\w+)=/gm)].map(
      ([, name = '']) => name,
    )
    const own = ['SHARE_1', 'KEPT', 'NEW_SHARES']
    for (const name of wanted.filter(one => !own.includes(one) && one !== 'CA_FILE'))
      expect(await shell.value(name), name).not.toBe('')
    expect(await shell.value('TOKEN')).toBe('hvs.root')
  })

  test('creates nothing again when a block is pasted twice', async () => {
    const before = about('lambda invoke').length
    for (const heading of ['3. The file', '5. Initialise, and join'])
      for (const block of blocksOf(PAGE, heading)) await shell.paste(block)
    expect(about('lambda invoke').length).toBe(before)
  })
})
