import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSettings } from '../../infra/settings.ts'
import { unexpired } from '../../shared/api/licence.ts'
import { initFields } from '../../shared/cluster/init.ts'
import { requestOf } from '../../shared/http/events.ts'
import { ofType, resourcesOf, stacksOf } from '../infra/synthesised.ts'
import { blocksOf } from '../support/programs/pages.ts'
import { openShell, type Shell } from '../support/programs/shell.ts'

// docs/aws-pair.md from top to bottom in a real bash. There is no account: `aws`, `npx` and `curl` are programs that note
// what they were given, and answer as AWS does.

const PAGE = 'docs/aws-pair.md'
const folder = mkdtempSync(`${tmpdir()}/cloud-auth-aws-pair-`)

/** A program that notes its arguments, and answers by the first words that fit. */
const noting = (name: string, answers: Readonly<Record<string, string>>): string => `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
const given = process.argv.slice(2)
const { AWS_REGION = '' } = process.env
const read = given.includes('file:///dev/stdin') ? readFileSync(0, 'utf8') : ''
appendFileSync('${folder}/calls', JSON.stringify({ name: '${name}', given, region: AWS_REGION, read }) + '\\n')
const line = given.join(' ')
const known = '${folder}/known-' + line.replace(/\\W/g, '').slice(0, 40)
const answers = ${JSON.stringify(answers)}
const [, answer = ''] = Object.entries(answers).find(([words]) => line.includes(words)) ?? []
if (line.includes('get-domain-name') && !line.includes('--query') && !existsSync(known)) {
  writeFileSync(known, '')
  process.exit(254)
}
if (line.includes('lambda invoke')) writeFileSync(given.at(-1), answer)
else process.stdout.write(answer)
`

const initialised = JSON.stringify({
  statusCode: 200,
  body: JSON.stringify({ root_token: 'hvs.root', recovery_keys: ['a', 'b', 'c', 'd', 'e'] }),
})
const ANSWERS = {
  'sns create-topic': 'arn:aws:sns:us-east-1:111122223333:cloud-auth-prod\n',
  'list-stack-resources': 'a1b2c3\n',
  'describe-stacks': 'cloud-auth-prod-api-init\n',
  'get-api-mappings': '',
  ApiGatewayDomainName: 'd-123.execute-api.us-east-1.amazonaws.com\n',
  'lambda invoke': initialised,
}

interface Call {
  name: string
  given: string[]
  region: string
  read: string
}
const calls = (): Call[] =>
  readFileSync(`${folder}/calls`, 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Call)
const about = (words: string): Call[] => calls().filter(({ given }) => given.join(' ').includes(words))

let shell: Shell
beforeAll(async () => {
  writeFileSync(`${folder}/calls`, '')
  const programs = { aws: noting('aws', ANSWERS), npx: noting('npx', {}), curl: noting('curl', {}) }
  shell = openShell({ cwd: folder, programs })
  for (const block of blocksOf(PAGE)) await shell.paste(block)
}, 120_000)
afterAll(() => {
  shell?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The settings that a deployment to a region was given. */
const settingsFor = (region: string) => {
  const given = about('cdk deploy').find(one => one.region === region)?.given ?? []
  return JSON.parse(
    given.find(one => one.startsWith('settings='))?.slice('settings='.length) ?? '',
  ) as Record<string, unknown>
}

describe('a pair on AWS, as its page makes it', () => {
  test('both regions are bootstrapped and deployed to, with settings that a deployment takes', () => {
    expect(about('cdk bootstrap').map(({ region }) => region)).toEqual(['us-east-1', 'us-west-2'])
    for (const [region, name] of [
      ['us-east-1', 'east'],
      ['us-west-2', 'west'],
    ] as const) {
      const settings = readSettings(settingsFor(region))
      expect(settings).toMatchObject({
        stage: 'prod',
        clusterName: name,
        apiAddress: `https://auth-${name}.example.com`,
      })
      const { license: text = '', licensePublicKey: publicKey = '' } = settings
      expect(unexpired({ text, publicKey }, Date.now())).toBeUndefined()
    }
  })

  test('with them every alarm tells somebody, and functions of replication have environments of their own', () => {
    const resources = resourcesOf(settingsFor('us-east-1'))
    for (const [id, { Properties }] of ofType(resources, 'AWS::CloudWatch::Alarm'))
      expect(Properties.AlarmActions, id).toEqual(['arn:aws:sns:us-east-1:111122223333:cloud-auth-prod'])
    const reserved = ofType(resources, 'AWS::Lambda::Function').filter(
      ([, one]) => one.Properties.ReservedConcurrentExecutions !== undefined,
    )
    expect(reserved).toHaveLength(5)
  })

  test('what is looked up is there: the stack, its API, the output with the function that initialises', () => {
    const api = stacksOf(settingsFor('us-east-1')).get('cloud-auth-prod-api')
    expect(Object.values(api?.Resources ?? {}).map(({ Type }) => Type)).toContain('AWS::ApiGatewayV2::Api')
    expect(Object.keys(api?.Outputs ?? {})).toContain('InitFunction')
    for (const { given } of [...about('list-stack-resources'), ...about('describe-stacks')])
      expect(given).toContain('cloud-auth-prod-api')
  })

  test('each API gets its name, by a certificate of its region, once', () => {
    const made = about('create-domain-name').map(({ given }) => [given[1], given[5], given[7]])
    expect(made).toEqual([
      [
        'us-east-1',
        'auth-east.example.com',
        expect.stringContaining('CertificateArn=arn:aws:acm:us-east-1:'),
      ],
      [
        'us-west-2',
        'auth-west.example.com',
        expect.stringContaining('CertificateArn=arn:aws:acm:us-west-2:'),
      ],
    ])
    for (const { given } of about('create-api-mapping')) expect(given).toContain('$default')
    expect(about('uninitcode=200').map(({ given }) => given.at(-1))).toEqual([
      'https://auth-east.example.com/v1/sys/health?uninitcode=200',
      'https://auth-west.example.com/v1/sys/health?uninitcode=200',
    ])
  })

  test('each is initialised by an event that its function understands', () => {
    const invoked = about('lambda invoke')
    expect(invoked.map(({ given }) => given[1])).toEqual(['us-east-1', 'us-west-2'])
    for (const { given, read } of invoked) {
      expect(given).toContain('cloud-auth-prod-api-init')
      const { method, path, body } = requestOf(JSON.parse(read), 0)
      expect([method, path]).toEqual(['PUT', '/v1/sys/init'])
      for (const name of Object.keys(JSON.parse(body))) expect(Object.keys(initFields)).toContain(name)
    }
  })

  test('the runbooks find their variables set', async () => {
    const wanted = [...(blocksOf('README', 'On AWS')[0] ?? '').matchAll(/^(\w+)=/gm)].map(
      ([, name = '']) => name,
    )
    const own = ['SHARE_1', 'KEPT']
    for (const name of wanted.filter(one => !own.includes(one) && one !== 'CA_FILE'))
      expect(await shell.value(name), name).not.toBe('')
    expect(await shell.value('TOKEN')).toBe('hvs.root')
  })

  test('a block that was pasted twice makes nothing twice', async () => {
    const before = [about('lambda invoke').length, about('create-domain-name').length]
    for (const heading of ['4. Names', '5. Initialise'])
      for (const block of blocksOf(PAGE, heading)) await shell.paste(block)
    expect([about('lambda invoke').length, about('create-domain-name').length]).toEqual(before)
  })
})
