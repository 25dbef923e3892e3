import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { basename } from 'node:path'
import type { Metafile } from 'esbuild'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { declaredUsesOfFunction } from '../../infra/build/uses.ts'
import { listFunctionNames } from '../../infra/checkout.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import type { AwsProvider } from '../../shared/adapters/aws/provider.ts'
import type { Instance } from '../../shared/model/instance.ts'
import { webServer } from '../support/service/server.ts'

/** Milliseconds. Bundling takes half a minute of CPU. */
const BUNDLING_TIMEOUT_MS = 300_000

let directory = ''

/** esbuild's metafile of each bundle. */
let bundles: Record<string, Metafile>
beforeAll(async () => {
  directory = await buildBundlesOfSources()
  bundles = JSON.parse(readFileSync(`${directory}/metafiles.json`, 'utf8'))
}, BUNDLING_TIMEOUT_MS)

const inputsOf = (name: string): string[] => Object.keys(bundles[name]?.inputs ?? {})
const holds = (name: string, library: string): boolean =>
  inputsOf(name).some(path => path.includes(`node_modules/${library}/`))

/** Sums up the code that a function loads before its first event. */
function eagerly(name: string): { bytes: number; files: number; modules: string[] } {
  const { outputs } = bundles[name] as Metafile
  const seen = new Set<string>()
  const visit = (path: string): void => {
    if (seen.has(path) || !outputs[path]) return
    seen.add(path)
    for (const one of outputs[path].imports) if (one.kind === 'import-statement') visit(one.path)
  }
  visit(Object.keys(outputs).find(path => path.endsWith('/index.mjs')) ?? '')
  const read = [...seen].map(path => outputs[path])
  return {
    bytes: read.reduce((sum, one) => sum + (one?.bytes ?? 0), 0),
    files: read.length,
    modules: read.flatMap(one => Object.keys(one?.inputs ?? {})),
  }
}

/** AWS clients, and the uses without which a bundle must not contain them. */
const clients = {
  '@aws-sdk/client-ec2': ['instances'],
  '@aws-sdk/client-iam': ['principals', 'access-keys'],
  '@aws-sdk/client-lambda': ['background', 'pull'],
  '@aws-sdk/client-sfn': ['workflow'],
  '@aws-sdk/client-sts': ['instances', 'principals'],
  '@aws-sdk/client-cloudwatch-logs': ['audit-log'],
}

/**
 * Reports whether a file belongs to the KMS client, which no bundle needs because functions call KMS without
 * the client.
 */
const inClient = (path: string): boolean => path.includes('@aws-sdk/client-kms/')

/** Functions that answer or call other clusters. */
const LINKED = ['link', 'on-journal', 'on-operation', 'on-pull', 'replication']

describe('contents of the bundles', () => {
  test.each(Object.entries(clients))(
    '%s is bundled only for functions that need that client',
    (client, needed) => {
      for (const name of listFunctionNames()) {
        expect(holds(name, client), name).toBe(declaredUsesOfFunction(name).some(use => needed.includes(use)))
      }
    },
  )

  test('no bundle has credential provider chains, the CDK, test tools or the local host', () => {
    for (const name of listFunctionNames()) {
      const foreign = inputsOf(name).filter(path =>
        /credential-provider-(node|sso|ini|process)\/|aws-cdk-lib|vitest|^infra\/|^test\//.test(path),
      )
      expect(foreign, name).toEqual([])
    }
  })

  test('a login loads at most 200 KB in 3 files and 170 modules before its first event, without the SDK', () => {
    const { bytes, files, modules } = eagerly('login')
    expect(files).toBeLessThanOrEqual(3)
    expect(bytes).toBeLessThanOrEqual(200_000)
    expect(modules.length).toBeLessThanOrEqual(170)
    expect(modules.filter(path => /node_modules\/@(aws-sdk|smithy)\//.test(path))).toEqual([])
  })

  test("the SDK's document client is bundled where the tables are called, and the KMS client nowhere", () => {
    for (const name of listFunctionNames()) {
      const callsTables = inputsOf(name).includes('shared/adapters/aws/table.ts')
      expect(holds(name, '@aws-sdk/lib-dynamodb'), name).toBe(callsTables)
    }
    expect(
      Object.values(bundles)
        .flatMap(one => Object.keys(one.inputs))
        .filter(inClient),
    ).toEqual([])
  })

  test('a login bundles only the parts of a client that its calls need', () => {
    const chunks = Object.values(bundles['login']?.outputs ?? {})
    const ec2 = chunks.filter(({ inputs }) =>
      Object.keys(inputs).some(path => path.includes('node_modules/@aws-sdk/client-ec2/')),
    )
    expect(ec2.map(({ bytes }) => Math.ceil(bytes / 12_000))).toEqual([1])
  })

  test('the bundled client of EC2 reads every member that the adapter returns', async () => {
    vi.stubEnv('AWS_REGION', 'eu-west-1')
    onTestFinished(() => void vi.unstubAllEnvs())
    const described = `<instanceId>i-1</instanceId><imageId>ami-1</imageId><instanceState><name>running</name></instanceState><subnetId>subnet-1</subnetId><vpcId>vpc-1</vpcId><iamInstanceProfile><arn>arn:p</arn></iamInstanceProfile><tagSet><item><key>a</key><value>b</value></item></tagSet>`
    const { url } = await webServer(onTestFinished, (_request, response) =>
      response.end(
        `<DescribeInstancesResponse><reservationSet><item><ownerId>1</ownerId><instancesSet><item>${described}</item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
      ),
    )
    const credentials = async () => ({ accessKeyId: 'AK', secretAccessKey: 'secret' })
    const settings = { region: 'eu-west-1', endpoint: url, maxAttempts: 1, credentials }
    const call = async (...[, , , make, send]: Parameters<AwsProvider['call']>) =>
      send(await make(settings), 5000)
    const file = readdirSync(`${directory}/login`).find(name => /^describe-instances.*mjs$/.test(name))
    const { describeInstancesByIds } = await import(`${directory}/login/${file}`)
    expect(await describeInstancesByIds({ call }, { account: '1' }, ['i-1'])).toEqual(
      new Map([
        [
          'i-1',
          {
            id: 'i-1',
            state: 'running',
            amiId: 'ami-1',
            vpcId: 'vpc-1',
            subnetId: 'subnet-1',
            profileArn: 'arn:p',
            tags: { a: 'b' },
          } satisfies Required<Instance>,
        ],
      ]),
    )
  })

  test('files that contain only libraries name no source map, and all others name one', () => {
    const { outputs } = bundles['login'] as Metafile
    for (const [path, { inputs }] of Object.entries(outputs).filter(([path]) => path.endsWith('.mjs'))) {
      const isOwn = Object.keys(inputs).some(input => !input.startsWith('node_modules/'))
      const text = readFileSync(`${directory}/login/${basename(path)}`, 'utf8')
      expect(text.includes('//# sourceMappingURL='), path).toBe(isOwn)
    }
  })

  test('no bundle calls require, which ES modules lack', () => {
    const calling = listFunctionNames().flatMap(name =>
      readdirSync(`${directory}/${name}`)
        .filter(file => file.endsWith('.mjs'))
        .filter(file => readFileSync(`${directory}/${name}/${file}`, 'utf8').includes('Dynamic require of')),
    )
    expect(calling).toEqual([])
  })

  test('Connect is bundled only for functions with the link', () => {
    const linked = listFunctionNames().filter(name => holds(name, '@connectrpc/connect'))
    expect(linked.filter(name => !LINKED.includes(name))).toEqual([])
    expect(linked).toContain('link')
    expect(eagerly('link').bytes).toBeLessThan(400_000)
    // the functions `replication` and `link` load rarely needed code on demand
    expect(eagerly('replication').bytes).toBeLessThan(400_000)
  })

  test('the fallback bundles the table of endpoints without their handlers', () => {
    expect(inputsOf('fallback')).toContain('shared/endpoints/all.ts')
    const domain = inputsOf('fallback').filter(path => /shared\/(auth-method|identity-proof)\//.test(path))
    expect(domain).toEqual([])
  })

  test.each(listFunctionNames())('stack traces of %s point to source files and lines', name => {
    const read = (file: string) => readFileSync(`${directory}/${name}/${file}`, 'utf8')
    const entry = read('index.mjs')
    expect(entry).toMatch(/\n\/\/# sourceMappingURL=index\.mjs\.map\s*$/)
    const map = JSON.parse(read('index.mjs.map')) as ConstructorParameters<typeof SourceMap>[0]
    expect(map.sources).toContainEqual(expect.stringContaining(`functions/${name}/index.ts`))
    expect(map, 'the sources themselves stay out').not.toHaveProperty('sourcesContent')
  })

  test('a position in a bundle maps to its source', () => {
    const files = readdirSync(`${directory}/login`).filter(name => name.endsWith('.mjs'))
    const read = (name: string) => readFileSync(`${directory}/login/${name}`, 'utf8')
    const file = files.find(name => read(name).includes('the response is too large: use')) ?? ''
    const lines = read(file).split('\n')
    const line = lines.findIndex(text => text.includes('the response is too large: use'))
    const map = JSON.parse(read(`${file}.map`))
    const found = new SourceMap(map).findEntry(
      line,
      lines[line]?.indexOf('the response is too large: use') ?? 0,
    )
    expect(found).toMatchObject({
      originalSource: expect.stringMatching(/shared\/http\/lambda\.ts$/),
    })
  })

  test('the fallback ships the console page as three files without source map, inline code or unsafe calls', () => {
    const files = readdirSync(`${directory}/fallback/ui`).toSorted()
    expect(files).toEqual(['index.html', 'page.js', 'style.css'])
    const [html = '', script = '', style = ''] = files.map(file =>
      readFileSync(`${directory}/fallback/ui/${file}`, 'utf8'),
    )
    expect(html.match(/<script[^>]*>[^<]*/g)).toEqual(['<script type="module" src="page.js">'])
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=/)
    expect(Buffer.byteLength(script)).toBeLessThanOrEqual(80_000)
    expect(html).toContain('bound_account_id list Account IDs')
    expect(script + style).not.toMatch(
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|localStorage|sessionStorage|eval\(|https?:\/\/(?!www\.w3\.org\/2000\/svg|<)/,
    )
    expect(listFunctionNames().filter(name => existsSync(`${directory}/${name}/ui`))).toEqual(['fallback'])
  })

  test('openpgp is shipped unmodified with its licence, and only to functions that use openpgp', () => {
    const holders = listFunctionNames().filter(name =>
      existsSync(`${directory}/${name}/node_modules/openpgp/LICENSE`),
    )
    expect(holders).toEqual(['ceremony', 'generate-root', 'init', 'rekey'])
    expect(listFunctionNames().filter(name => holds(name, 'openpgp'))).toEqual([])
  })
})
