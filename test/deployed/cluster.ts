import { signLogin, type WorkloadCredentials } from '../../infra/command/login/signed-login.ts'
import { readDrStatus, waitUntilTrue } from '../../infra/local/pair/dr-client.ts'
import type { ClusterStatus } from '../../shared/set/status.ts'
import { call, type Reply } from '../support/service/api.ts'
import { EmulatedAccount } from './account.ts'
import { emulatorAdaptationNames } from './adaptations.ts'
import { type Assembly, deployStacks } from './cdk.ts'
import { EMULATED, type Emulator, startEmulator } from './emulator.ts'
import { type FrontKind, findFrontAddress } from './stacks.ts'

/** A holder of recovery shares with an OpenPGP key. */
export interface ShareHolder {
  publicKey: string
  fingerprint: string
  /** decrypts a message in base64 */
  decrypt(message: string): Promise<string>
}

/** A cluster that is deployed into the emulated account. */
export class DeployedCluster {
  private readonly emulator: Emulator
  private readonly account: EmulatedAccount
  readonly stage: string
  /** outputs of the stack `api` */
  private outputs: Record<string, string> = {}
  /** address of the cluster's front */
  address = ''
  /** kind of the front, as the setting `front` names it */
  front: FrontKind = 'httpApi'
  /** headers of all requests, for example those of a proxy */
  headers: Record<string, string> = {}
  root = ''

  /** @param stage the stage of the cluster's settings */
  constructor(emulator: Emulator, account: EmulatedAccount, stage: string) {
    this.emulator = emulator
    this.account = account
    this.stage = stage
  }

  /** Deploys the cluster's stacks with the CDK. @param selection pattern of the cluster's stacks in the assembly */
  async deploy(assembly: Assembly, selection?: string): Promise<void> {
    const outputs = await deployStacks(this.emulator, assembly, selection)
    await this.useOutputs(outputs[`cloud-auth-${this.stage}-api`] ?? {})
  }

  /** Reads the names of functions, and finds the front. @param outputs outputs of the stack `api` */
  async useOutputs(outputs: Record<string, string>): Promise<void> {
    this.outputs = outputs
    this.address = await findFrontAddress(this.emulator, this.front)
  }

  /** Calls the cluster, by default with the root token. */
  api(method: string, path: string, body?: object, token = this.root): Promise<Reply> {
    return call(`${this.address}/v1`, method, `/${path}`, body, { token, headers: this.headers })
  }

  /** Calls the cluster, and returns the answer's body. @throws Error unless the answer is a success */
  async done(method: string, path: string, body?: object, token = this.root): Promise<Reply['body']> {
    const reply = await this.api(method, path, body, token)
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply.body
  }

  /** Sends an API request to the function of an output, as administrators do. @throws Error unless it succeeds */
  async invokeApi(output: string, method: string, path: string, body: object): Promise<Reply['body']> {
    const { fault, result } = await this.account.invoke(this.outputs[output] ?? '', {
      version: '2.0',
      rawPath: `/v1/${path}`,
      requestContext: { http: { method } },
      body: JSON.stringify(body),
    })
    if (fault !== undefined || result.statusCode !== 200)
      throw new Error(`${output} ${path}: ${JSON.stringify(result)}`)
    return JSON.parse(result.body)
  }

  /** Initialises the cluster. @returns the recovery shares */
  async initialise(): Promise<string[]> {
    const sizes = { recovery_shares: 5, recovery_threshold: 3 }
    const { root_token, recovery_keys } = await this.invokeApi('InitFunction', 'PUT', 'sys/init', sizes)
    this.root = root_token
    return recovery_keys
  }

  /** Generates an operation token from recovery shares, where nobody has a token that may begin an attempt. */
  async generateOperationToken(shares: readonly string[]): Promise<string> {
    const generate = 'sys/replication/dr/secondary/generate-operation-token'
    const { nonce, otp } = await this.invokeApi('CeremonyFunction', 'POST', `${generate}/attempt`, {})
    let encoded_token = ''
    for (const key of shares)
      ({ encoded_token } = await this.done('POST', `${generate}/update`, { key, nonce }, ''))
    return (await this.done('POST', 'sys/decode-token', { encoded_token, otp }, '')).data.token
  }

  /** Initialises the cluster with one share, which is encrypted to its holder as the root token is. */
  async initialiseFor({ publicKey, decrypt }: ShareHolder): Promise<void> {
    const { root_token } = await this.invokeApi('InitFunction', 'PUT', 'sys/init', {
      recovery_shares: 1,
      recovery_threshold: 1,
      recovery_pgp_keys: [publicKey],
      root_token_pgp_key: publicKey,
    })
    this.root = await decrypt(root_token)
  }

  /** Returns the status with which the cluster answers health checks. */
  async health(): Promise<number> {
    return (await this.api('GET', 'sys/health', undefined, '')).status
  }

  /** Creates a role for all users of the account. */
  async createIamRole(role: string): Promise<void> {
    await this.done('POST', `auth/cloud/role/${role}`, {
      auth_type: 'iam',
      bound_iam_principal_arn: [`arn:aws:iam::${EMULATED.account}:*`],
      resolve_aws_unique_ids: false,
      token_ttl: '1h',
    })
  }

  /** Logs a user in. @param more parameters that replace those of the signed request */
  iamLogin(role: string, key: WorkloadCredentials, more: object = {}): Promise<Reply> {
    return this.api('POST', 'auth/cloud/login', { role, ...signLogin(key), ...more }, '')
  }

  /** Waits until the DR status of the cluster fulfils a condition. */
  untilStatus(what: string, probe: (status: ClusterStatus) => boolean): Promise<void> {
    return waitUntilTrue(`the cluster does not become ${what}`, async () =>
      probe(await readDrStatus(this.drHost())),
    )
  }

  /** Returns the cluster in the form in which the DR client takes a cluster. */
  drHost() {
    return { base_url: `${this.address}/v1`, root_token: this.root, cluster: this.stage }
  }
}

/** An emulated account, the cluster that a test deploys into the account, and the key of a user who logs in. */
export interface Deployment {
  emulator: Emulator
  account: EmulatedAccount
  cluster: DeployedCluster
  key: WorkloadCredentials
}

/** Starts an emulator with all adaptations. @param stage the stage of the cluster that the test deploys */
export async function prepareDeployment(stage: string, region?: string): Promise<Deployment> {
  const emulator = await startEmulator(emulatorAdaptationNames, region === undefined ? {} : { region })
  const account = new EmulatedAccount(emulator)
  const cluster = new DeployedCluster(emulator, account, stage)
  return { emulator, account, cluster, key: await account.createUserKey('alice') }
}
