import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { createFailoverToken } from '../../../infra/local/commands/drill/failover-token.ts'
import { createLocalAuthority } from '../../../infra/local/gateway/tls.ts'
import { createLocalLicence } from '../../../infra/local/lambda/licence.ts'
import { makeTemporaryDirectory } from '../../../infra/local/os/temporary.ts'
import { readDrStatus, waitUntilTrue } from '../../../infra/local/pair/dr-client.ts'
import { PAIR_REGIONS } from '../../../infra/local/pair/pair.ts'
import { HOST_REFRESHES } from '../../../shared/workers/workers.ts'
import { type Assembly, adaptAssembly, bootstrap, readTemplates } from '../cdk.ts'
import { type Deployment, prepareDeployment } from '../cluster.ts'
import { EMULATED } from '../emulator.ts'
import { expectOnlyAdaptations } from '../expectations.ts'
import { startTlsFront, type TlsFront } from '../front.ts'
import { emulatorFiles } from '../install.ts'

// Deploys a pair of clusters into two regions, each region in an emulator of its own. The file and the program are those
// of docs/do/aws-pair.md. A TLS front of the test is before each API, because clusters call each other by https only.
// The deployment ships the authority of the fronts. Each test continues from the state of the previous test.

const STAGE = 'prod'
const DR = 'sys/replication/dr'
const { LICENSE: license, LICENSE_PUBLIC_KEY: licensePublicKey } = createLocalLicence(STAGE, Date.now())

/** A cluster of the pair. */
interface Member extends Deployment {
  front: TlsFront
  /** the address that clients, operators and the other cluster use */
  address: string
}

const folder = makeTemporaryDirectory()
const files = { pair: `${folder}/pair.json`, authority: `${folder}/authorities/authority.pem` }
const authority = createLocalAuthority('authority')
const createMember = async (name: keyof typeof PAIR_REGIONS): Promise<Member> => {
  const front = await startTlsFront(authority.issue(name, [`${name}.test`]))
  const deployment = await prepareDeployment(STAGE, PAIR_REGIONS[name])
  return { ...deployment, front, address: `https://${name}.test:${front.port}` }
}
const [east, west] = [await createMember('east'), await createMember('west')]

let assembly: Assembly
/** recovery shares of east, which are the shares of the set */
let shares: string[]

/** Runs a program of the checkout, which resolves the names of the pair. @returns its output @throws Error if it fails */
async function run(words: readonly string[], variables: object = {}, input = ''): Promise<string> {
  const child = spawn(process.execPath, ['--import', emulatorFiles.names, ...words], {
    cwd: checkoutRoot,
    env: { ...east.emulator.variables, NODE_EXTRA_CA_CERTS: files.authority, ...variables },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(input)
  const closed = new Promise(resolve => child.once('close', resolve))
  const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return `${stdout}${stderr}`
}

const runPairProgram = (...given: Parameters<typeof run>): Promise<string> => {
  const [words, ...more] = given
  return run(['infra/pair/main.ts', files.pair, ...words], ...more)
}

async function deployMember(name: string, { emulator, cluster, front }: Member): Promise<void> {
  await bootstrap(emulator, assembly)
  await cluster.deploy(assembly, `${name}/*`)
  front.forwardTo(cluster.address)
}

beforeAll(async () => {
  mkdirSync(`${folder}/authorities`)
  writeFileSync(files.authority, authority.cert)
  const both = {
    stage: STAGE,
    license,
    licensePublicKey,
    deletionProtection: false,
    caBundles: `${folder}/authorities`,
  }
  const clusters = Object.fromEntries(
    Object.entries({ east, west }).map(
      ([
        name,
        {
          emulator: { region },
          address: apiAddress,
        },
      ]) => [name, { account: EMULATED.account, region, settings: { apiAddress } }],
    ),
  )
  writeFileSync(files.pair, JSON.stringify({ both, clusters }))
  await runPairProgram(['--synth'])
  assembly = adaptAssembly(`${checkoutRoot}.build/pair`)
  await deployMember('east', east)
  await deployMember('west', west)
  shares = await east.cluster.initialise()
  await west.cluster.initialise()
})
afterAll(async () => {
  for (const { emulator, front } of [east, west]) {
    await front.close()
    await emulator.stop()
  }
  rmSync(folder, { recursive: true })
})

/** Returns the root of a cluster's Merkle tree, which a schedule would refresh within ten minutes. */
async function readRoot({ account, cluster }: Member): Promise<string> {
  await account.invoke(await account.functionNameOf('on-journal'), HOST_REFRESHES)
  return (await readDrStatus(cluster.drHost())).root
}

/** Creates a role on the primary, and waits until both clusters have the same new root of their Merkle trees. */
async function replicateRole(primary: Member, role: string): Promise<void> {
  const before = await readRoot(primary)
  await primary.cluster.createIamRole(role)
  await waitUntilTrue('the clusters do not get the same new root', async () => {
    const [one, other] = [await readRoot(east), await readRoot(west)]
    return one !== before && one === other
  })
}

const expectIamLogin = async ({ cluster, key }: Member, role: string): Promise<void> => {
  const login = await cluster.iamLogin(role, key)
  expect(login.status, login.text).toBe(200)
}

describe('the deployment of a pair', () => {
  test('differs from the released templates only in resources that a row of the adaptations names', () =>
    expectOnlyAdaptations(readTemplates(assembly.released), readTemplates(assembly.tested)))
})

describe('a pair in two regions', () => {
  test('`deploy:pair --join` makes west follow east over TLS', async () => {
    const tokens = { PRIMARY_TOKEN: east.cluster.root, SECONDARY_TOKEN: west.cluster.root }
    expect(await runPairProgram(['--join', 'west'], tokens, 'west\n')).toContain('west follows east')
    expect([await east.cluster.health(), await west.cluster.health()]).toEqual([200, 472])
    expect(await readDrStatus(east.cluster.drHost())).toMatchObject({ mode: 'primary', known: ['west'] })
  })

  test('a role that east writes gives both clusters the same new Merkle root', () =>
    replicateRole(east, 'of-east'))

  test('`cloud-auth switch` makes west the primary, and east follows west', async () => {
    const token = await createFailoverToken(east.cluster.drHost())
    const printed = await run(
      ['infra/command/main.ts', 'switch', '--yes', `east=${east.address}`, `west=${west.address}`],
      { CLOUD_AUTH_OPERATION_TOKEN: token, VAULT_CACERT: files.authority },
    )
    expect(printed).toContain('4. Follow')
    expect([await east.cluster.health(), await west.cluster.health()]).toEqual([472, 200])
  })

  test('west serves logins of the replicated role, and accepts the root token of the set', async () => {
    west.cluster.root = east.cluster.root
    await expectIamLogin(west, 'of-east')
    expect((await west.cluster.done('GET', 'auth/cloud/role/of-east')).data).toMatchObject({
      token_ttl: 3600,
    })
    await replicateRole(west, 'of-west')
  })

  test('no function of a cluster logs an error', async () => {
    for (const { account } of [east, west]) {
      const logs = await Promise.all((await account.listLogGroups()).map(group => account.readLog(group)))
      expect(logs.flat().filter(line => /"level":"(?:ERROR|FATAL)"/.test(line))).toEqual([])
    }
  })

  test('after the loss of west, three shares and a forced promotion make east the primary', async () => {
    await west.emulator.stop()
    const token = await east.cluster.generateOperationToken(shares.slice(0, 3))
    await east.cluster.done('POST', `${DR}/secondary/promote`, { dr_operation_token: token, force: true }, '')
    await east.cluster.untilStatus('the primary', one => one.mode === 'primary' && one.state === 'running')
    for (const name of ['promotion', 'operation-token-attempt'])
      expect(await east.account.endsOfWorkflow(`cloud-auth-${STAGE}-${name}`)).toEqual(['SUCCEEDED'])
    await expectIamLogin(east, 'of-west')
  })
})
