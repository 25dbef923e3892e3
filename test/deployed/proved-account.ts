import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname } from 'node:path'
import type { Instance } from '@aws-sdk/client-ec2'
import { expect } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { openProveAccount, type ProveAccount } from '../../infra/command/prove/account.ts'
import type { ProveCloud, WantedStack } from '../../infra/command/prove/cloud.ts'
import { listJournaledRuns } from '../../infra/command/prove/journal.ts'
import { prove } from '../../infra/command/prove/prove.ts'
import type { ProveOptions } from '../../infra/command/prove/tools.ts'
import { createDocumentAuthority } from '../../infra/local/provider/documents/authority.ts'
import { signInstanceDocument } from '../../infra/local/provider/documents/document.ts'
import { buildBundlesOfSources } from '../../infra/local/template/synth.ts'
import { packTarball, readEntries } from '../../infra/release/archives.ts'
import { proveOptions } from '../support/programs/prove-options.ts'
import { call } from '../support/service/api.ts'
import { EmulatedAccount } from './account.ts'
import type { AdaptableTemplate } from './adaptations.ts'
import { EMULATED, type Emulator } from './emulator.ts'
import { unpackRelease } from './release.ts'

const PROGRAM = `${checkoutRoot}infra/command/main.ts`
const ARCHIVE = 'cloud-auth-0.0.0-templates'

/**
 * Writes a release folder with the templates as the emulator accepts them.
 * @param replaced templates by part that replace templates of the release
 * @returns the folder
 */
export async function writeAdaptedRelease(
  replaced: Readonly<Record<string, AdaptableTemplate>> = {},
): Promise<string> {
  const name = ['prove', ...Object.keys(replaced)].join('-')
  const { folder } = unpackRelease(name, await buildBundlesOfSources())
  for (const [part, template] of Object.entries(replaced))
    writeFileSync(`${folder}/${part}.template.json`, JSON.stringify(template))
  const archive = packTarball(ARCHIVE, readEntries(folder))
  const sum = createHash('sha256').update(archive).digest('hex')
  const release = dirname(folder)
  writeFileSync(`${release}/${ARCHIVE}.tgz`, archive)
  writeFileSync(`${release}/SHA256SUMS`, `${sum}  ${ARCHIVE}.tgz\n`)
  return release
}

/** Returns the text of a template's `Fn::Sub` with the values of its placeholders. */
const substitute = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)\}/g, (_, name) => values[name] ?? '')

/** Serves the metadata of an instance, with a document that an authority of the test has signed. */
async function serveMetadata(
  instance: Instance,
  authority: Awaited<ReturnType<typeof createDocumentAuthority>>,
) {
  const document = JSON.stringify({
    accountId: EMULATED.account,
    architecture: 'arm64',
    availabilityZone: instance.Placement?.AvailabilityZone,
    imageId: instance.ImageId,
    instanceId: instance.InstanceId,
    instanceType: instance.InstanceType,
    pendingTime: new Date(Date.now() - 60_000).toISOString().replace(/\.\d+/, ''),
    privateIp: instance.PrivateIpAddress,
    region: EMULATED.region,
    version: '2017-09-30',
  })
  const server = createServer(({ method, url, headers }, response) => {
    if (method === 'PUT' && url === '/latest/api/token') return void response.end('a-token')
    const hasToken = headers['x-aws-ec2-metadata-token'] === 'a-token'
    if (url !== '/latest/dynamic/instance-identity/rsa2048' || !hasToken)
      return void response.writeHead(404).end()
    response.end(signInstanceDocument(document, authority, Date.now()).rsa2048)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { address: `http://127.0.0.1:${port}/latest`, close: () => void server.close() }
}

/** The other region of runs in two regions. */
export interface PeerRegion {
  emulator: Emulator
  /** certificate of the authority of the clusters' link addresses, PEM */
  authority: string
  /** returns the address at which the other cluster reaches an API of an emulator */
  linkTo(api: string): string
}

/** Runs `cloud-auth prove` in an emulated account, with a home folder of its own. */
export class ProvedAccount {
  readonly account: EmulatedAccount
  readonly home = mkdtempSync(`${tmpdir()}/prove-`)
  printed = ''
  said: string[] = []
  signal: (name: string) => void = () => undefined
  private readonly emulator: Emulator
  private readonly release: string
  private readonly peer: PeerRegion | undefined
  private base = ''
  private root = ''
  /** status of the start script, and its output */
  script: { status: number | null; output: string } | undefined

  constructor(emulator: Emulator, release: string, peer?: PeerRegion) {
    this.emulator = emulator
    this.peer = peer
    this.release = release
    this.account = new EmulatedAccount(emulator)
  }

  remove(): void {
    rmSync(this.home, { recursive: true })
  }

  /** Returns the emulator's own address of an API, because the API's name has no DNS entry. */
  private apiOf(address: string): string {
    const { host, port } = new URL(address)
    const [id = ''] = host.split('.')
    return `http://127.0.0.1:${port}/_aws/execute-api/${id}/$default`
  }

  private reach = (address: string): string => {
    const base = `${this.apiOf(address)}/v1`
    // the instance is in the first region
    if (base.startsWith(this.emulator.url)) this.base = base
    return base
  }

  /** Opens the account in a region, which has an emulator of its own. */
  private openRegion(
    before: (call: string) => void,
    ...[region, profile, environment, connection]: Parameters<typeof openProveAccount>
  ): Promise<ProveAccount> {
    const { url } = [this.emulator, this.peer?.emulator].find(one => one?.region === region) ?? this.emulator
    return this.open(before, region, profile, { ...environment, AWS_ENDPOINT_URL: url }, connection)
  }

  /**
   * Runs the start script of an instance, because the emulator runs no program in an instance. The cluster gets the
   * certificate of the authority that signs the instance's document.
   */
  private async runInstance(id: string, { template, parameters }: WantedStack): Promise<void> {
    const authority = await createDocumentAuthority()
    const aws_public_cert = Buffer.from(authority.rsa2048.certificate).toString('base64')
    const certificate = { aws_public_cert, type: 'pkcs7' }
    const path = '/auth/cloud/config/certificate/test'
    const written = await call(this.base, 'POST', path, certificate, { token: this.root })
    expect(written.status, written.text).toBeLessThan(300)
    const metadata = await serveMetadata(await this.account.awaitInstance(id), authority)
    const { UserData } = JSON.parse(template as string).Resources.Instance.Properties
    const script = substitute(UserData['Fn::Base64']['Fn::Sub'], parameters)
    expect(script).toContain('shutdown -h +60')
    const local = script
      .replace('http://169.254.169.254/latest', metadata.address)
      .replace(/^shutdown /m, 'echo shutdown ')
    const child = spawn('bash', ['-c', local], { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += String(chunk)))
    const status = await new Promise<number | null>(resolve => child.on('close', resolve))
    this.script = { status, output }
    metadata.close()
  }

  /** Opens the emulated account. The test sees the root token, runs the instance, and can make calls fail. */
  private async open(
    before: (call: string) => void,
    ...given: Parameters<typeof openProveAccount>
  ): Promise<ProveAccount> {
    const opened = await openProveAccount(...given)
    let probe: WantedStack | undefined
    const watched = Object.entries(opened.cloud).map(([name, send]) => [
      name,
      async (...words: unknown[]) => {
        const [first] = words as [string | WantedStack]
        const stack = typeof first === 'string' ? first : first.name
        before(`${name} ${stack}`)
        if (name === 'createStack' && stack.endsWith('-probe')) probe = first as WantedStack
        const result = await (send as (...all: unknown[]) => Promise<unknown>)(...words)
        const body = (result as { body?: string } | undefined)?.body
        if (name === 'invokeFunction' && body?.includes('root_token') && !stack.includes('-peer-'))
          this.root = JSON.parse(body).root_token
        const { status, outputs } = (result ?? {}) as { status?: string; outputs?: Record<string, string> }
        if (status === 'CREATE_COMPLETE' && outputs?.['Instance'] && probe) {
          await this.runInstance(outputs['Instance'], probe)
          probe = undefined
        }
        return result
      },
    ])
    return { ...opened, cloud: Object.fromEntries(watched) as ProveCloud }
  }

  /** Starts the command in this process. */
  start(more: Partial<ProveOptions> = {}, before: (call: string) => void = () => undefined) {
    this.printed = ''
    this.said = []
    const options: ProveOptions = {
      ...proveOptions,
      region: EMULATED.region,
      peerRegion: this.peer?.emulator.region,
      release: this.release,
      ...more,
    }
    return prove(options, {
      environment: { HOME: this.home },
      connection: { timeoutMs: 60_000, ...(this.peer && { ca: [this.peer.authority] }) },
      print: text => {
        this.printed += text
      },
      say: text => void this.said.push(text),
      confirm: async () => true,
      onSignal: called => {
        this.signal = called
      },
      open: (...given) => this.openRegion(before, ...given),
      reach: this.reach,
      linkTo: address => this.peer?.linkTo(this.apiOf(address)) ?? new URL(address).origin,
    })
  }

  /** Starts the command as a program. */
  spawn(words: readonly string[]) {
    return spawn(process.execPath, [PROGRAM, 'prove', '--yes', ...words], {
      env: { ...this.emulator.variables, HOME: this.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  /** Starts the command as a program, with the release. */
  spawnRun() {
    return this.spawn(['--region', EMULATED.region, '--release', this.release])
  }

  journals(): string[] {
    return listJournaledRuns(`${this.home}/.local/state/cloud-auth`)
  }

  /** Expects that the account has nothing of a run. */
  async expectEmpty(): Promise<void> {
    const accounts = [this.account, ...(this.peer ? [new EmulatedAccount(this.peer.emulator)] : [])]
    for (const account of accounts) {
      expect(await account.listFunctions()).toEqual([])
      expect(await account.listTables()).toEqual([])
      expect(await account.listInstances()).toEqual([])
      // functions create these log groups, because the emulator allows what their roles do not allow
      const byFunctions = /onauditentriesLogs|^\/aws\/lambda\//
      expect((await account.listLogGroups()).filter(name => !byFunctions.test(name))).toEqual([])
    }
    expect(this.journals()).toEqual([])
  }
}

/** Waits until a program prints a text on standard error, or ends. */
export async function awaitText(child: ReturnType<ProvedAccount['spawn']>, text: string): Promise<void> {
  let output = ''
  for await (const chunk of child.stderr) {
    output += String(chunk)
    if (output.includes(text)) return
  }
  throw new Error(`the program ended:\n${output}`)
}
