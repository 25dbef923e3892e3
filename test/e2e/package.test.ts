import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCdkApp, unvalidatedAppProps } from '../../infra/app.ts'
import { shippedPrograms } from '../../infra/build/command.ts'
import { checkoutRoot, listFunctionNames, readCdkContext } from '../../infra/checkout.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { buildPackage } from '../../infra/package/build.ts'
import { oldestNode } from '../../infra/package/requirements.ts'
import { readSettings, settingsSchema } from '../../infra/settings.ts'
import { defineStacks } from '../../infra/stacks/cluster.ts'
import { startCommand } from '../support/programs/command.ts'
import { findOldestNode } from '../support/programs/nodes.ts'

const BUNDLING_TIMEOUT_MS = 300_000

/** Settings of many kinds, so that the templates depend on feature flags. */
const settings = {
  stage: 'test',
  canary: {},
  loginConcurrency: 10,
  tags: { team: 'auth' },
  parameterPrefix: '/cloud-auth/test',
  apiAddress: 'https://east.example.com',
  drill: { schedule: 'rate(7 days)', peer: 'https://west.example.com', policy: 'drill' },
  dashboard: true,
}

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-package-`)
let tarball = ''
const installed = `${folder}/app/node_modules/cloud-auth`
const read = (file: string): string => readFileSync(`${installed}/${file}`, 'utf8')
const stacks = ['data', 'api', 'workers'].map(part => `cloud-auth-test-${part}`)

/** Returns the templates of an assembly by stack name. */
const templatesIn = (out: string): Map<string, object> =>
  new Map(
    readdirSync(out)
      .filter(name => name.endsWith('.template.json'))
      .map(name => [
        stacks.find(stack => name.replaceAll('-', '').includes(stack.replaceAll('-', ''))) ?? name,
        JSON.parse(readFileSync(`${out}/${name}`, 'utf8')) as object,
      ]),
  )

const APP = `import { App } from 'aws-cdk-lib'
import { CloudAuth } from 'cloud-auth'
const app = new App({ outdir: 'out', builtinCloudFormationValidation: false })
const { stacks } = new CloudAuth(app, 'Auth', JSON.parse(process.argv[2]))
app.synth()
console.log(stacks.api.stackName)
`

/** Packs the built package, and unpacks it into an empty app next to its peer dependencies. */
beforeAll(async () => {
  await buildPackage(await buildBundlesOfSources(), `${folder}/package`)
  const packed = execFileSync('npm', ['pack', '--silent', '--offline', '--pack-destination', folder], {
    cwd: `${folder}/package`,
    encoding: 'utf8',
    env: { ...process.env, npm_config_cache: `${folder}/cache` },
  })
  tarball = `${folder}/${packed.trim()}`
  mkdirSync(installed, { recursive: true })
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  for (const peer of ['aws-cdk-lib', 'constructs'])
    symlinkSync(`${checkoutRoot}node_modules/${peer}`, `${folder}/app/node_modules/${peer}`)
  writeFileSync(`${folder}/app/app.mjs`, APP)
}, BUNDLING_TIMEOUT_MS)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Compares the templates that the empty app has created with those of our own app, and removes the former. */
function expectOwnTemplates(): void {
  const app = createCdkApp(`${folder}/own`, unvalidatedAppProps)
  defineStacks(app, { settings: readSettings(settings), bundles: `${folder}/package/functions` })
  app.synth()
  const [own, theirs] = [templatesIn(`${folder}/own`), templatesIn(`${folder}/app/out`)]
  rmSync(`${folder}/app/out`, { recursive: true })
  expect([...theirs.keys()].sort()).toEqual([...stacks].sort())
  for (const stack of stacks) expect(theirs.get(stack), stack).toEqual(own.get(stack))
}

describe('the npm package in an empty CDK app', () => {
  test('can be installed with peers, exports and files, and its source package stays private', () => {
    const { private: hidden } = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as {
      private: boolean
    }
    const made = JSON.parse(read('package.json')) as Record<string, object>
    expect(hidden).toBe(true)
    expect(made).not.toHaveProperty('private')
    expect(made).not.toHaveProperty('dependencies')
    expect(Object.keys(made['peerDependencies'] ?? {})).toEqual(['aws-cdk-lib', 'constructs'])
    expect(Object.keys(made['bin'] ?? {})).toEqual(Object.keys(shippedPrograms))
    for (const file of ['lib/index.js', 'lib/construct.cjs', 'lib/index.d.ts', 'LICENSE', 'cdk.json'])
      expect(read(file)).not.toBe('')
    expect(readdirSync(`${installed}/functions`).sort()).toEqual(listFunctionNames())
    expect(read('lib/construct.cjs')).not.toMatch(/node_modules\/(openpgp|@aws-sdk)/)
    expect(readdirSync(installed).filter(name => /^(shared|infra|test)$/.test(name))).toEqual([])
  })

  test("takes the addresses and keywords of the checkout's package.json, and the command's Node", () => {
    const own = JSON.parse(readFileSync(`${checkoutRoot}package.json`, 'utf8')) as Record<string, unknown>
    const made = JSON.parse(read('package.json')) as Record<string, unknown>
    for (const name of ['version', 'keywords', 'homepage', 'bugs', 'repository', 'license'])
      expect([name, made[name]]).toEqual([name, own[name] ?? 'missing'])
    expect(made['engines']).toEqual({ node: `>=${oldestNode.command}` })
    expect(read('README.md')).toContain(`construct needs Node ${oldestNode.construct} or later`)
    expect(read('README.md')).toContain(`command needs Node ${oldestNode.command} or later`)
  })

  test('has no source maps, and no comments that name source maps', () => {
    const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
    expect(files.filter(name => name.endsWith('.map'))).toEqual([])
    const scripts = files.filter(name => name.endsWith('.mjs') && !name.includes('node_modules/'))
    expect(scripts.length).toBeGreaterThan(listFunctionNames().length)
    expect(scripts.filter(name => read(name).includes('\n//# sourceMappingURL='))).toEqual([])
  })

  test('has its own README without commands of the repository or unknown props', () => {
    const page = read('README.md')
    expect(page).toContain("import { CloudAuth } from 'cloud-auth'")
    expect(page).not.toMatch(/npm (?:start|test|run )/)
    const table = page.slice(page.indexOf('| prop |'), page.indexOf('`caBundles`'))
    const named = [...table.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell = '']) => [
      ...cell.matchAll(/`(\w+)`/g),
    ])
    const props = named.map(([, name = '']) => name)
    expect(props.length).toBeGreaterThan(8)
    expect(props.filter(name => !Object.hasOwn(settingsSchema.entries, name))).toEqual([])
  })

  test('creates the templates of our own app without its feature flags', () => {
    const flags = Object.keys(readCdkContext()).filter(name => name.startsWith('@aws-cdk'))
    expect(flags.length).toBeGreaterThan(50)
    const said = execFileSync(process.execPath, ['app.mjs', JSON.stringify(settings)], {
      cwd: `${folder}/app`,
      encoding: 'utf8',
    })
    expect(said.trim()).toBe('cloud-auth-test-api')
    expectOwnTemplates()
  })

  test('reports invalid props', () => {
    const synthesise = () =>
      execFileSync(process.execPath, ['app.mjs', '{"stage":"Test","colour":"red"}'], {
        cwd: `${folder}/app`,
        encoding: 'utf8',
        stdio: 'pipe',
      })
    expect(synthesise).toThrow(/the settings are not usable:[\s\S]*stage: [\s\S]*colour: /)
  })

  test('has types with a comment for every setting', () => {
    const types = read('lib/index.d.ts')
    for (const name of Object.keys(settingsSchema.entries))
      expect(types, name).toMatch(new RegExp(`\\* \\S.*\\n {3}\\*/\\n {2}readonly ${name}\\??: `))
    writeFileSync(
      `${folder}/app/app.ts`,
      `import { App } from 'aws-cdk-lib'
import { CloudAuth, type CloudAuthProps } from 'cloud-auth'
const props: CloudAuthProps = { stage: 'a', canary: { percent: 5 }, front: { kind: 'httpApi' }, env: { region: 'a' } }
new CloudAuth(new App(), 'Auth', props).stacks.api.stackName.length
// @ts-expect-error no such setting
new CloudAuth(new App(), 'Auth', { stage: 'a', colour: 'red' })
// @ts-expect-error a setting of another type
new CloudAuth(new App(), 'Auth', { stage: 'a', memory: 'much' })
// @ts-expect-error no stage
new CloudAuth(new App(), 'Auth', {})
`,
    )
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024']
    const run = () =>
      execFileSync(`${checkoutRoot}node_modules/.bin/tsc`, [...options, 'app.ts'], {
        cwd: `${folder}/app`,
        encoding: 'utf8',
      })
    expect(run()).toBe('')
  })
})

/** Installs the packed package with npm, which reaches no registry. @returns the packages in the folder */
function install(target: string, ...options: string[]): string[] {
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', ...options, tarball], {
    cwd: target,
    stdio: 'pipe',
    env: { ...process.env, npm_config_cache: `${folder}/cache` },
  })
  const modules = options.includes('--global') ? `${target}/lib/node_modules` : `${target}/node_modules`
  return readdirSync(modules).filter(name => !name.startsWith('.'))
}

describe('the npm package without its peers', () => {
  test('installs globally without dependencies, and the command runs', () => {
    const prefix = `${folder}/global`
    mkdirSync(prefix)
    expect(install(prefix, '--global', '--prefix', prefix)).toEqual(['cloud-auth'])
    const printed = execFileSync(`${prefix}/bin/cloud-auth`, ['--help'], { encoding: 'utf8' })
    expect(printed).toContain('cloud-auth COMMAND')
  })

  test('installs into an empty app, and `new CloudAuth` names both peers', () => {
    const app = `${folder}/bare`
    mkdirSync(app)
    writeFileSync(`${app}/package.json`, '{"name":"bare","type":"module"}')
    expect(install(app)).toEqual(['cloud-auth'])
    const program = `import { CloudAuth } from 'cloud-auth'
      try { new CloudAuth(undefined, 'Auth', { stage: 'a' }) } catch (error) { console.log(error.message) }`
    const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      cwd: app,
      encoding: 'utf8',
    })
    expect(printed.trim()).toBe(
      'CloudAuth needs the packages aws-cdk-lib and constructs in your app. Not installed: aws-cdk-lib, constructs. Run: npm install aws-cdk-lib constructs',
    )
  })
})

/** Returns the oldest Node of a part. On a machine without that Node, this Node runs with the version. */
function findNode(part: 'command' | 'construct'): [program: string, ...options: string[]] {
  const node = findOldestNode(part)
  if (node !== undefined) return [node]
  const file = `${folder}/${part}-version.cjs`
  const value = `${oldestNode[part]}.0.0`
  writeFileSync(file, `Object.defineProperty(process.versions, 'node', { value: '${value}' })`)
  return [process.execPath, '--require', file]
}

describe('the npm package on the oldest Node that it supports', () => {
  const run = (part: 'command' | 'construct', ...words: string[]): string => {
    const [node, ...options] = findNode(part)
    return execFileSync(node, [...options, ...words], {
      cwd: `${folder}/app`,
      encoding: 'utf8',
      stdio: 'pipe',
    })
  }

  test.each(['command', 'construct'] as const)('is tested on the version of the %s', part => {
    expect(run(part, '--print', 'process.versions.node').trim()).toBe(`${oldestNode[part]}.0.0`)
  })

  test('runs the command, which logs in', async () => {
    const server = createServer((_, answer) => answer.end('{"auth":{"client_token":"token-of-the-test"}}'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const variables = {
      VAULT_ADDR: `http://127.0.0.1:${port}`,
      AWS_ACCESS_KEY_ID: 'AKIAEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_REGION: 'us-east-1',
    }
    const program = { file: `${installed}/bin/cloud-auth.mjs`, node: findNode('command') }
    const end = await startCommand(['login', '--role', 'dev'], variables, program).ended
    server.close()
    expect(end).toEqual({ status: 0, stdout: 'token-of-the-test\n', stderr: '' })
  })

  test('refuses `new CloudAuth` with the Node of the command', () => {
    expect(() => run('command', 'app.mjs', '{"stage":"a"}')).toThrow(
      /CloudAuth needs Node 22 or later, and this is Node 20\.0\.0/,
    )
  })

  test('creates the templates of our own app with the Node of the construct', () => {
    expect(run('construct', 'app.mjs', JSON.stringify(settings)).trim()).toBe('cloud-auth-test-api')
    expectOwnTemplates()
  })
})
