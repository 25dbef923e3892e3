import type { Socket } from 'node:net'
import type { TapUsers } from '../../../infra/local/host/host.ts'
import { closeServer, listenOnLoopback } from '../../../infra/local/os/loopback.ts'
import {
  createOpenConnections,
  type OpenConnections,
} from '../../../infra/local/provider/faults/connections.ts'
import {
  createTextAnswer,
  requestHeaderOf,
  type WireOutcome,
  type WireRequest,
} from '../../../infra/local/provider/wire/http.ts'
import { createWireServer } from '../../../infra/local/provider/wire/server.ts'
import { findSignatureRefusal } from '../../../infra/local/provider/wire/signed-server.ts'
import { secretsEqual } from '../../../shared/values/secret.ts'
import type { StorageFault } from './storage-faults.ts'
import { createStorageTap, type StorageTap } from './storage-tap.ts'

/** The HTTP port of a storage tap. Functions call this port in place of the engine. */
export interface StorageTapPort {
  url: string
  tap: StorageTap
  /** makes open connections fail when their clients use them again */
  drop(): void
  close(): Promise<void>
}

/** Maximum size of a storage call, in bytes. */
const LARGEST_CALL = 16 * 1024 * 1024

/**
 * Starts a storage tap with an HTTP port. Other processes send commands to the port: `POST /_tap/fault`,
 * `/_tap/mend`, `/_tap/aws`.
 */
export async function startStorageTap(
  engineUrl: string,
  { keys, controlToken }: TapUsers,
): Promise<StorageTapPort> {
  const tap = createStorageTap(engineUrl)
  const connections = createOpenConnections()
  const server = createWireServer(
    async (request, connection) => {
      if (!request.path.startsWith('/_tap/'))
        return findSignatureRefusal(keys, request) ?? pass(tap, connections, request, connection)
      return secretsEqual(requestHeaderOf(request, 'authorization') ?? '', `Bearer ${controlToken}`)
        ? command(tap, request)
        : createTextAnswer(401, 'text/plain', 'commands need the control token')
    },
    { largestBody: LARGEST_CALL },
  )
  return {
    url: await listenOnLoopback(server),
    tap,
    drop: connections.drop,
    close: () => {
      tap.close()
      return closeServer(server)
    },
  }
}

async function pass(
  tap: StorageTap,
  connections: OpenConnections,
  request: WireRequest,
  connection: Socket,
): Promise<WireOutcome> {
  if (!connections.lives(connection)) return 'reset'
  const answer = await tap.pass({
    operation: requestHeaderOf(request, 'x-amz-target')?.split('.')[1] ?? '',
    invocation: requestHeaderOf(request, 'amz-sdk-invocation-id') ?? '',
    input: JSON.parse(request.body.toString('utf8')) as object,
    headers: Object.fromEntries(request.headers),
    body: request.body,
  })
  if (!answer) return 'reset'
  const { statusCode: status, headers, body } = answer
  return { status, headers: { ...headers, 'content-length': String(body.length) }, body }
}

function command(tap: StorageTap, { path, body }: WireRequest): WireOutcome {
  const told = (): unknown => JSON.parse(body.toString('utf8'))
  if (path === '/_tap/fault') tap.fault(told() as StorageFault)
  if (path === '/_tap/aws') tap.imitateConflicts((told() as { takesFor?: number }).takesFor)
  const answer = JSON.stringify({ calls: tap.calls(), held: tap.held() })
  if (path === '/_tap/mend') tap.mend()
  return createTextAnswer(200, 'application/json', answer)
}
