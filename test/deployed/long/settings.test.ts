import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms'
import { decrypt, generateKey, readKey, readMessage, readPrivateKey } from 'openpgp'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLocalAuthority } from '../../../infra/local/gateway/tls.ts'
import { readSettings } from '../../../infra/settings.ts'
import {
  type Assembly,
  bootstrap,
  countDifferentStacks,
  deployStacks,
  destroyAll,
  synthesiseAssembly,
} from '../cdk.ts'
import { DeployedCluster, type Deployment, prepareDeployment, type ShareHolder } from '../cluster.ts'
import { EMULATED, type Emulator } from '../emulator.ts'
import { createSettingGroups, PROXY_SECRET } from '../settings.ts'
import { sendToService, textsOf } from '../stacks.ts'

// Deploys each group of settings into an emulated account of its own, logs in, and removes the deployment.

const authorities = mkdtempSync(`${tmpdir()}/cloud-auth-authorities-`)
let holder: ShareHolder
beforeAll(async () => {
  holder = await createHolder()
  writeFileSync(`${authorities}/own.pem`, createLocalAuthority('an organisation').cert)
})
afterAll(() => rmSync(authorities, { recursive: true }))

async function createHolder(): Promise<ShareHolder> {
  const { publicKey, privateKey } = await generateKey({ userIDs: [{ name: 'holder' }], format: 'armored' })
  return {
    publicKey,
    fingerprint: (await readKey({ armoredKey: publicKey })).getFingerprint(),
    decrypt: async message => {
      const { data } = await decrypt({
        message: await readMessage({ binaryMessage: new Uint8Array(Buffer.from(message, 'base64')) }),
        decryptionKeys: await readPrivateKey({ armoredKey: privateKey }),
      })
      return String(data)
    },
  }
}

/** Creates a KMS key. @returns its ARN */
async function createKey({ url, region }: Emulator): Promise<string> {
  const credentials = { accessKeyId: EMULATED.account, secretAccessKey: 'emulated' }
  const client = new KMSClient({ endpoint: url, region, credentials })
  return (await client.send(new CreateKeyCommand({}))).KeyMetadata?.Arn ?? ''
}

/** Creates the hosted zone of example.com. @returns its id */
async function createZone(emulator: Emulator): Promise<string> {
  const answer = await sendToService(emulator, 'route53', '/2013-04-01/hostedzone', {
    method: 'POST',
    body: '<CreateHostedZoneRequest><Name>example.com</Name><CallerReference>test</CallerReference></CreateHostedZoneRequest>',
  })
  return textsOf(await answer.text(), 'Id')[0]?.replace('/hostedzone/', '') ?? ''
}

const names = Object.keys(createSettingGroups({ keyArn: '', zoneId: '', authorities: '', fingerprint: '' }))

const createGroups = async (emulator: Emulator) =>
  createSettingGroups({
    keyArn: await createKey(emulator),
    zoneId: await createZone(emulator),
    authorities,
    fingerprint: holder.fingerprint,
  })

interface Deployed {
  assembly: Assembly
  /** outputs of the stack `data` */
  data: Record<string, string>
}

/** Deploys a cluster, and expects that the deployment equals its templates. */
async function deploy(emulator: Emulator, cluster: DeployedCluster, group: object): Promise<Deployed> {
  const settings = { stage: cluster.stage, deletionProtection: false, ...group }
  const assembly = await synthesiseAssembly(emulator, `settings-${cluster.stage}`, settings)
  await bootstrap(emulator, assembly)
  const outputs = await deployStacks(emulator, assembly)
  cluster.front = readSettings(settings).front.kind
  await cluster.useOutputs(outputs[`cloud-auth-${cluster.stage}-api`] ?? {})
  expect(await countDifferentStacks(emulator, assembly)).toBe(0)
  return { assembly, data: outputs[`cloud-auth-${cluster.stage}-data`] ?? {} }
}

async function prepare(stage: string): Promise<Deployment> {
  const deployment = await prepareDeployment(stage)
  onTestFinished(() => deployment.emulator.stop())
  return deployment
}

async function expectLogin(cluster: DeployedCluster, key: Deployment['key']): Promise<void> {
  const login = await cluster.iamLogin('dev', key)
  expect(login.status, login.text).toBe(200)
}

async function expectRemoval({ emulator, account }: Deployment, assembly: Assembly): Promise<void> {
  const { status, output } = await destroyAll(emulator, assembly)
  expect(status, output).toBe(0)
  expect(await account.listFunctions()).toEqual([])
}

describe('the settings of a group', () => {
  test('balancer are deployed, but the emulator ignores the targets of target groups', async () => {
    const deployment = await prepare('balancer')
    const { emulator, cluster } = deployment
    const { assembly } = await deploy(emulator, cluster, (await createGroups(emulator))['balancer'] ?? {})
    await cluster.initialise()
    const { status, text } = await cluster.api('GET', 'sys/health')
    expect([status, text]).toEqual([503, expect.stringContaining('No registered targets in target group')])
    await expectRemoval(deployment, assembly)
  })

  test.each(names.filter(name => name !== 'balancer'))(
    '%s are deployed, and the cluster serves logins',
    async stage => {
      const deployment = await prepare(stage)
      const { emulator, cluster, key } = deployment
      const group = (await createGroups(emulator))[stage] ?? {}
      const { assembly } = await deploy(emulator, cluster, group)
      if ('proxy' in group) {
        expect(await cluster.health()).toBe(403)
        cluster.headers = { 'x-origin-secret': PROXY_SECRET, 'x-forwarded-for': '192.0.2.1' }
      }
      if ('initPgpKeys' in group) {
        await expect(cluster.initialise()).rejects.toThrow('recovery_pgp_keys must be exactly')
        await cluster.initialiseFor(holder)
      } else await cluster.initialise()
      await cluster.createIamRole('dev')
      await expectLogin(cluster, key)
      await expectRemoval(deployment, assembly)
    },
  )
})

test('a cluster with the setting `restored` serves the data of another cluster', async () => {
  const { emulator, account, cluster: source, key } = await prepare('source')
  const { assembly, data } = await deploy(emulator, source, { deletionProtection: true })
  await source.initialise()
  await source.createIamRole('dev')
  const outputLike = (pattern: RegExp) => Object.values(data).find(value => pattern.test(value))
  const restored = {
    dataTable: outputLike(/^cloud-auth-source-data-Data/),
    clusterTable: outputLike(/^cloud-auth-source-data-Cluster/),
    clusterStreamArn: outputLike(/\/stream\//),
    keyArn: outputLike(/^arn:aws:kms:/),
  }
  // the stack `data` stays, because it is protected
  expect((await destroyAll(emulator, assembly)).status).not.toBe(0)
  expect(await account.listFunctions()).toEqual([])
  const cluster = new DeployedCluster(emulator, account, 'restored')
  await deploy(emulator, cluster, { restored })
  expect(await cluster.health()).toBe(200)
  await expectLogin(cluster, key)
})
