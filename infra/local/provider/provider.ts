import { randomBytes } from 'node:crypto'
import type { Server } from 'node:http'
import { secretsEqual } from '../../../shared/values/secret.ts'
import { closeServer, listenOnLoopback } from '../os/loopback.ts'
import { answerControlRequest, createLocalControl, type ProviderControl } from './control.ts'
import type { DocumentAuthority } from './documents/authority.ts'
import { HOME_ACCOUNT } from './home.ts'
import { countProviderLeases } from './leases.ts'
import { answerContainer } from './services/container-credentials.ts'
import { answerIssuerRequest, answerSignedCall } from './services/signed-call.ts'
import { answerWebIdentity } from './services/web-identity.ts'
import { type HomeAccount, type ImitatedAws, openImitatedAws } from './state/imitated-aws.ts'
import { createWireServer } from './wire/server.ts'

/** Options of a provider. */
export interface ProviderOptions {
  /** TCP port on loopback; 0 or absent: any free port. */
  port?: number
  /** File that stores the state; absent: memory only. The file is replaced atomically after each change. */
  stateFile?: string
  /** Default account and region of control commands; `HOME_ACCOUNT` when absent. */
  home?: HomeAccount
  /** Called for every event on the default bus. */
  onBusEvent?: NonNullable<ImitatedAws['onBusEvent']>
  /** Returns epoch milliseconds; default: the system's clock. The command `advance` shifts the clock. */
  clock?: () => number
  /**
   * Signers of identity documents if the state file has no signers; absent: new signers when first needed.
   */
  authority?: DocumentAuthority
  /**
   * Counts the processes that need the provider of a directory. `onNone` is called when no process is left,
   * with the pending save.
   */
  leases?: { directory: string; onNone: (saved: Promise<void>) => void }
}

/** A running provider. */
export interface RunningProvider {
  /** `http://127.0.0.1:<port>`: endpoint of every service. */
  url: string
  control: ProviderControl
  /**
   * Token for commands over HTTP and for leases. The token is new at each start, because another program may
   * listen at an earlier port.
   */
  controlToken: string
  /** Closes open connections and resolves when the last change is in the state file. */
  close(): Promise<void>
}

/**
 * Starts a small AWS on loopback: STS, EC2, IAM, KMS, CloudWatch Logs, EventBridge, instance metadata and
 * credentials of containers, in their wire formats and with signature checks. The small AWS is for development, tests and drills.
 * @throws Error if the port is taken or the state file cannot be read
 */
export async function startProvider(options: ProviderOptions = {}): Promise<RunningProvider> {
  const { home = HOME_ACCOUNT, stateFile, onBusEvent, clock = Date.now, authority, leases } = options
  const aws = { ...openImitatedAws(home, stateFile, clock), ...(onBusEvent ? { onBusEvent } : {}) }
  if (authority) aws.state.authority ??= authority
  const controlToken = randomBytes(32).toString('base64url')
  const isOwner = (authorization: string): boolean => secretsEqual(authorization, `Bearer ${controlToken}`)
  const server = createProviderServer(aws, isOwner)
  if (leases) countProviderLeases(server, leases.directory, isOwner, () => leases.onNone(aws.saved()))
  const url = await listenOnLoopback(server, options.port)
  return {
    url,
    control: createLocalControl(aws),
    controlToken,
    close: async () => {
      await Promise.all([server, ...(await Promise.all(aws.metadataPorts.values()))].map(closeServer))
      await aws.saved()
    },
  }
}

/** Creates the HTTP server of all imitated services. The server does not listen yet. */
const createProviderServer = (aws: ImitatedAws, isOwner: (authorization: string) => boolean): Server =>
  createWireServer(
    (request, connection) =>
      answerControlRequest(aws, request, isOwner) ??
      (aws.arranged.connections.lives(connection)
        ? (answerContainer(aws, request) ??
          answerIssuerRequest(aws, request) ??
          answerWebIdentity(aws, request) ??
          answerSignedCall(aws, request))
        : Promise.resolve('reset')),
    aws,
  )
