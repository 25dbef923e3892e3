import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buildPrograms } from '../../infra/build/command.ts'
import { makeTemporaryDirectory } from '../../infra/local/os/temporary.ts'
import { HOME_ACCOUNT } from '../../infra/local/provider/home.ts'
import { startCommand } from '../support/programs/command.ts'
import { eventually } from '../support/programs/killed-hosts.ts'
import { aws, cluster, done, fresh, tokenWith } from '../support/service/cluster.ts'
import { webServer } from '../support/service/server.ts'

// Runs the bundled command in processes and in a real shell, against a real cluster. The imitated AWS checks
// every signature.

const folder = makeTemporaryDirectory()
const file = `${folder}/cloud-auth.mjs`
const home = `${folder}/home`
const mount = fresh('aws-')
const SERVER = 'https://login.example.com'
const { account, region } = HOME_ACCOUNT

const instance = { account, region, instanceId: `i-0${fresh()}${fresh()}` }
let variables: Record<string, string>
let keys: { accessKeyId: string; secretAccessKey: string }
beforeAll(async () => {
  mkdirSync(home)
  await buildPrograms(folder)
  const worker = fresh('worker-')
  const user = await aws.putUser({ account, name: worker })
  keys = await aws.createAccessKey({ account, user: worker })
  const role = await aws.putRole({ account, name: worker, trusts: [user.arn] })
  const profile = await aws.putInstanceProfile({ account, name: worker, roles: [worker] })
  await aws.putInstance({ ...instance, imageId: 'ami-0c000000000000001', instanceProfileArn: profile.arn })
  const { url } = await aws.metadataPort(instance)
  variables = {
    PATH: `${folder}/bin:${process.env['PATH']}`,
    HOME: home,
    VAULT_ADDR: cluster.base_url.replace(/\/v1$/, ''),
    CLOUD_AUTH_MOUNT: mount,
    AWS_EC2_METADATA_SERVICE_ENDPOINT: url,
    AWS_ENDPOINT_URL_STS: cluster.provider_url,
  }
  mkdirSync(`${folder}/bin`)
  symlinkSync(file, `${folder}/bin/cloud-auth`)
  symlinkSync(process.execPath, `${folder}/bin/node`)
  await done('POST', `/sys/auth/${mount}`, { type: 'aws' })
  await done('POST', `/auth/${mount}/config/client`, { iam_server_id_header_value: SERVER })
  await done('POST', `/auth/${mount}/config/certificate/ours`, {
    aws_public_cert: Buffer.from((await aws.authority()).rsa2048).toString('base64'),
  })
  const iam = { auth_type: 'iam', token_ttl: '1h' }
  await done('POST', `/auth/${mount}/role/user`, { ...iam, bound_iam_principal_arn: user.arn })
  await done('POST', `/auth/${mount}/role/role`, { ...iam, bound_iam_principal_arn: role.arn })
  await done('POST', `/auth/${mount}/role/box`, {
    auth_type: 'ec2',
    bound_account_id: account,
    token_ttl: '1h',
  })
  mkdirSync(`${home}/.aws`)
  writeFileSync(
    `${home}/.aws/config`,
    `[profile base]\naws_access_key_id=${keys.accessKeyId}\naws_secret_access_key=${keys.secretAccessKey}\nregion=us-east-1\n
[profile assumed]\nsource_profile=base\nrole_arn=${role.arn}\nregion=us-east-1\n`,
  )
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (line: string, more: Record<string, string> = {}, input = '') =>
  startCommand(line.split(' '), { ...variables, ...more }, { file, input }).ended
const inShell = (script: string, more: Record<string, string> = {}) =>
  promisify(execFile)('sh', ['-euc', script], { env: { ...variables, ...more } })
const lookUp = async (token: string) =>
  (await done('GET', '/auth/token/lookup-self', undefined, { token })).body.data
const own = () => ({ AWS_ACCESS_KEY_ID: keys.accessKeyId, AWS_SECRET_ACCESS_KEY: keys.secretAccessKey })
/** Returns all files below the home directory with their hashes. */
const kept = () =>
  readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter(name => statSync(`${home}/${name}`).isFile())
    .map(
      name =>
        `${name} ${createHash('sha256')
          .update(readFileSync(`${home}/${name}`))
          .digest('hex')}`,
    )

describe('the login command', () => {
  test.each<[who: string, line: string, environment: () => Record<string, string>, role: string]>([
    ['keys in the environment', '--role user', own, 'user'],
    ['keys in a profile', '--profile base --role user', () => ({}), 'user'],
    ['a role that a profile assumes', '--role role', () => ({ AWS_PROFILE: 'assumed' }), 'role'],
    ["the instance's role", '--role role', () => ({}), 'role'],
  ])('with %s prints a token and writes no file', async (_, line, environment, role) => {
    const before = kept()
    const { status, stdout, stderr } = await run(`login ${line} --header-value ${SERVER}`, environment())
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^hvs\.\S+\n$/)
    const { role_id } = (await done('GET', `/auth/${mount}/role/${role}`)).body.data
    expect(await lookUp(stdout.trim())).toMatchObject({ path: `auth/${mount}/login`, meta: { role_id } })
    expect(kept(), 'nothing is kept').toEqual(before)
  })

  test("without the server ID header fails with the server's error in one line", async () => {
    const { status, stdout, stderr } = await run('login --role user', own())
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^auth\/aws-\w+\/login: 400 .*IAM-Server-ID.*\n$/)
  })

  test("of another principal fails with the server's error", async () => {
    const { status, stderr } = await run(`login --role role --header-value ${SERVER}`, own())
    expect(status).toBe(1)
    expect(stderr).toMatch(/^auth\/aws-\w+\/login: 400 /)
  })

  test("with the instance's document prints the nonce as a variable, which later logins need", async () => {
    const first = await inShell('cloud-auth login --method ec2 --role box --export')
    const lines = first.stdout.trim().split('\n')
    expect(lines.map(line => line.split('=')[0])).toEqual([
      'export VAULT_ADDR',
      'export VAULT_TOKEN',
      'export CLOUD_AUTH_NONCE',
    ])
    const without = await run('login --method ec2 --role box')
    expect(without).toMatchObject({ status: 1, stdout: '' })
    const script = `eval "$LINES"; cloud-auth login --method ec2 --role box --json`
    const again = JSON.parse((await inShell(script, { LINES: first.stdout })).stdout)
    expect(again).toMatchObject({ lease_duration: 3600, metadata: { auth_type: 'ec2', role: 'box' } })
    expect(await lookUp(again.client_token)).toMatchObject({ path: `auth/${mount}/login` })
  })

  test('with --export prints lines that a shell evaluates, so that a client finds address and token', async () => {
    const script = `SET=$(cloud-auth login --role user --header-value ${SERVER} --export); eval "$SET"; exec node -e '
      const { VAULT_ADDR, VAULT_TOKEN } = process.env
      fetch(VAULT_ADDR + "/v1/auth/token/lookup-self", { headers: { "x-vault-token": VAULT_TOKEN } }).then(async answer => console.log(await answer.text()))'`
    const { stdout } = await inShell(script, own())
    expect(JSON.parse(stdout).data).toMatchObject({ path: `auth/${mount}/login` })
  })

  test('with --json shows the accessor by which an administrator looks up and revokes the token', async () => {
    const administrator = { VAULT_TOKEN: cluster.root_token }
    const login = await run(`login --role user --header-value ${SERVER} --json`, own())
    const { client_token, accessor } = JSON.parse(login.stdout)
    const shown = await run(`lookup --json --accessor ${accessor}`, administrator)
    expect(JSON.parse(shown.stdout)).toMatchObject({ path: `auth/${mount}/login`, accessor })
    expect((await run(`revoke --accessor ${accessor}`, { VAULT_TOKEN: client_token })).status).toBe(1)
    expect(await run(`revoke --accessor ${accessor}`, administrator)).toEqual({
      status: 0,
      stdout: 'The token is revoked.\n',
      stderr: '',
    })
    expect(await run('lookup', { VAULT_TOKEN: client_token })).toMatchObject({ status: 1, stdout: '' })
    const again = await run(`revoke --accessor ${accessor}`, administrator)
    expect(again).toMatchObject({ status: 1, stdout: '' })
    expect(again.stderr).toMatch(/^auth\/token\/revoke-accessor at \S+ revoked no token: .*accessor\n$/)
  })

  test('at an unreachable cluster exits with another code than at a rejected login', async () => {
    const { status, stderr } = await run('login', { ...own(), VAULT_ADDR: 'http://127.0.0.1:1' })
    expect(status).toBe(3)
    expect(stderr).toBe(
      'http://127.0.0.1:1 cannot be reached (ECONNREFUSED): no server listens there. Check the address\n',
    )
  })
})

describe('the explanation of a login', () => {
  test('a workload with a token sees each check of its login, what was seen and what the role admits', async () => {
    const token = await tokenWith(`path "auth/${mount}/role/+/explain" { capabilities = ["update"] }`)
    const line = `explain --role role --header-value ${SERVER}`
    const { status, stdout, stderr } = await run(line, { ...own(), VAULT_TOKEN: token })
    expect({ status, stderr }).toEqual({ status: 4, stderr: '' })
    expect(stdout).toMatch(
      /^fail +bound_iam_principal_arn\n +seen +\{"arn":"arn:aws:iam::\d+:user\/.*\n +wanted +\{"arn":\["arn:aws:iam::\d+:role\//m,
    )
    expect(stdout.trim().split('\n').at(-1)).toContain('would fail at the check "bound_iam_principal_arn"')
    const refused = await run(line, { ...own(), VAULT_TOKEN: 'hvs.unknown' })
    expect(refused).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining('403') })
  })

  test('a workload without a token hands its login to an administrator, who explains it', async () => {
    const login = `${folder}/handed.json`
    const line = `login --dry-run --role user --header-value ${SERVER} --output ${login}`
    expect(await run(line, own())).toMatchObject({ status: 0, stdout: '' })
    const admin = { VAULT_TOKEN: cluster.root_token, HOME: folder }
    const { status, stdout } = await run(`explain --login ${login}`, admin)
    expect(stdout).toContain('A login with role user would succeed.')
    expect(status).toBe(0)
    expect((await run(`explain --role box --login ${login}`, admin)).status).toBe(4)
  })
})

describe("the token helper, called as by Vault's command line", () => {
  const helperCalled = (word: string, more: Record<string, string> = {}, input = '') =>
    run(word, { ...own(), CLOUD_AUTH_ROLE: 'user', CLOUD_AUTH_HEADER_VALUE: SERVER, ...more }, input)

  test('get prints the token without a line end, and reuses a valid token', async () => {
    const { status, stdout, stderr } = await helperCalled('get')
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^hvs\.\S+$/)
    expect(await lookUp(stdout)).toMatchObject({ path: `auth/${mount}/login` })
    expect(
      (await helperCalled('get', { VAULT_TOKEN: stdout })).stdout,
      'one that counts is good enough',
    ).toBe(stdout)
    const anew = (await helperCalled('get', { VAULT_TOKEN: 'hvs.gone' })).stdout
    expect(await lookUp(anew)).toMatchObject({ path: `auth/${mount}/login` })
  })

  test('store and erase print nothing and write no file', async () => {
    const before = kept()
    for (const [word, input] of [
      ['store', 'hvs.somebody'],
      ['erase', ''],
    ] as const)
      expect(await helperCalled(word, {}, input)).toEqual({ status: 0, stdout: '', stderr: '' })
    expect(kept()).toEqual(before)
  })

  test('get prints only an error when the login is rejected', async () => {
    const { status, stdout, stderr } = await helperCalled('get', { CLOUD_AUTH_ROLE: 'nobody' })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).not.toBe('')
  })
})

test.each([
  ['login somebody', 'login takes no argument: somebody'],
  ['login --json --export', '--json and --export cannot be used together'],
  ['token-helper list', 'token-helper needs exactly one word: get, store or erase'],
  [
    'status',
    'name each cluster by its address or the path of its cluster.json, as arguments or in CLOUD_AUTH_CLUSTERS',
  ],
  ['status --every 3 http://127.0.0.1:1', '--every needs --watch'],
  ['status --watch --every 0 http://127.0.0.1:1', '--every must be a number of seconds, at least 0.1'],
  [
    'switch http://127.0.0.1:1',
    'switch needs two clusters: first the one that serves, then the one that takes over',
  ],
  [
    'switch http://127.0.0.1:1 http://127.0.0.1:2',
    'the DR operation token is missing. Set CLOUD_AUTH_OPERATION_TOKEN, or write it to standard input',
  ],
])('the command %s ends with code 2 and one line that names the fault', async (line, text) => {
  const { status, stdout, stderr } = await run(line)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr.trim().split('\n').at(-1)).toBe(`${text}; see cloud-auth --help`)
})

test('status --watch prints one line for each check, and Ctrl-C ends the command with the last exit code', async () => {
  const { child, ended } = startCommand(
    ['status', '--watch', '--every', '0.1', '--json', `ours=${cluster.base_url}`],
    variables,
    { file },
  )
  let looks = 0
  child.stdout?.on('data', () => {
    looks += 1
    if (looks === 3) child.kill('SIGINT')
  })
  const { status, stdout, stderr } = await ended
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const told = stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(told.length).toBeGreaterThan(2)
  for (const one of told)
    expect(one).toMatchObject({
      verdict: 'done',
      clusters: [{ name: 'ours', role: 'disabled', serves: true }],
    })
})

test('a command that waits shows its progress on a terminal only', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { url, requests } = await webServer(onTestFinished, (_, response) => {
    void released.then(() => response.end('{"data": {"path": "auth/x"}}'))
  })
  const seen = { ...variables, VAULT_ADDR: url, VAULT_TOKEN: 'hvs.x', NO_COLOR: '1', TERM: 'xterm' }
  const piped = startCommand(['lookup'], seen, { file })
  await eventually(() => requests[0])
  // on the terminal, standard output and standard error are one stream
  const typed = spawn('script', ['-qefc', 'cloud-auth lookup', '/dev/null'], {
    env: { ...seen, PATH: `${variables['PATH']}:${process.env['PATH']}`, SHELL: '/bin/sh' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const closed = once(typed, 'close')
  let shown = ''
  typed.stdout.setEncoding('utf8').on('data', text => {
    shown += text
  })
  await eventually(() => (shown.split('waiting for').length > 2 ? shown : undefined))
  release()
  await closed
  expect(shown.replaceAll('\r\x1b[K', '<')).toMatch(
    /^(<cloud-auth lookup: waiting for \d+ s){2,}<path {15}auth\/x\r\n$/,
  )
  expect(await piped.ended).toEqual({ status: 0, stdout: 'path               auth/x\n', stderr: '' })
})

test('the build of the command is one executable file without npm dependencies', () => {
  expect(readdirSync(folder).filter(name => name.startsWith('cloud-auth'))).toEqual(['cloud-auth.mjs'])
  const text = readFileSync(file, 'utf8')
  expect(text).toMatch(/^#!\/usr\/bin\/env node\n/)
  expect(statSync(file).mode & 0o111).toBe(0o111)
  expect(text.length).toBeLessThan(500_000)
  const imported = [...text.matchAll(/(?:[\w}]\s*from|import\()\s*["']([^"']+)["']/g)].map(
    ([, name = '']) => name,
  )
  expect(imported.filter(name => !name.startsWith('node:') && !/^[a-z_/]+$/.test(name))).toEqual([])
})
