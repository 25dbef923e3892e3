import { createConnectRouter } from '@connectrpc/connect'
import { createAsyncIterable, readAllBytes, type UniversalHandler } from '@connectrpc/connect/protocol'
import { ApiError } from '../api/errors.ts'
import { createLinkRoutes, isLinkCallMessage } from '../link/routes.ts'
import type { LinkServerPorts } from '../link/serve/ports.ts'
import { createLinkService } from '../link/serve/service.ts'
import { eventBodyBytes, type FrontAnswer, type FrontEvent, toFrontAnswer, toHttpRequest } from './events.ts'
import { renderErrorResponse } from './render.ts'
import type { HttpRequest } from './request.ts'

/** A binary response for any front end. */
type BinaryAnswer = Omit<FrontAnswer, 'isBase64Encoded'> & { isBase64Encoded: true }

/** Maximum bytes of a link request. A hundred of the longest keys take a third of this size. */
const LARGEST_QUESTION = 2 ** 20
const LARGEST_ANSWER = 5 * 2 ** 20

/**
 * Builds the Lambda handler of the link: gRPC-Web and Connect. Plain gRPC is not supported, because it needs trailers, which no
 * front end carries.
 */
export function createLinkHandler(ports: LinkServerPorts) {
  const scheme = ports.deployment.plainEndpoints ? 'http' : 'https'
  const options = { grpc: false, readMaxBytes: LARGEST_QUESTION, writeMaxBytes: LARGEST_ANSWER }
  const routes = createLinkRoutes(createLinkService(ports))
  const { handlers } = routes(createConnectRouter(options))
  const byPath = new Map(handlers.map(one => [one.requestPath, one]))
  return async (event: FrontEvent): Promise<BinaryAnswer> => {
    const request = toHttpRequest(event, 0, ports.deployment.proxy)
    const { status, headers, body } = await answered(byPath.get(request.path), request, event, scheme)
    const front = toFrontAnswer(event, { status, headers, body: body.toString('base64') }, false)
    return { ...front, isBase64Encoded: true }
  }
}

async function answered(
  handler: UniversalHandler | undefined,
  request: HttpRequest,
  event: FrontEvent,
  scheme: string,
) {
  if (!request.fault && handler) return asked(handler, request, event, scheme)
  const { status, headers, body } = renderErrorResponse(request.fault ?? new ApiError('unsupported_path'))
  return { status, headers, body: Buffer.from(body) }
}

/** Bytes of a gRPC-Web frame header: flags and length. */
const FRAME_HEAD = 5
/** Bytes before the message, by content type. */
const HEADS: Readonly<Record<string, number>> = {
  'application/proto': 0,
  'application/grpc-web': FRAME_HEAD,
  'application/grpc-web+proto': FRAME_HEAD,
}

/**
 * Returns the body, or an empty message if the body is not a valid protobuf frame. An empty message gets a regular
 * error, while the library reports malformed frames as internal errors. The library itself rejects compressed and
 * oversized bodies.
 */
function callIn(bytes: Buffer, headers: Headers): Buffer {
  const head = HEADS[headers.get('content-type') ?? '']
  const isPacked = headers.has('content-encoding') || headers.has('grpc-encoding')
  if (head === undefined || isPacked || bytes.length > LARGEST_QUESTION) return bytes
  return (head === 0 || isFrame(bytes)) && isLinkCallMessage(bytes.subarray(head))
    ? bytes
    : Buffer.alloc(head)
}

/** Reports whether the bytes are exactly one uncompressed gRPC-Web frame. */
const isFrame = (bytes: Buffer): boolean =>
  bytes.length >= FRAME_HEAD && bytes[0] === 0 && bytes.readUInt32BE(1) === bytes.length - FRAME_HEAD

async function asked(
  handler: UniversalHandler,
  { method, path, headers, domain }: HttpRequest,
  event: FrontEvent,
  scheme: string,
) {
  const response = await handler({
    httpVersion: '1.1',
    url: `${scheme}://${domain || 'localhost'}${path}`,
    method,
    header: new Headers(headers),
    body: createAsyncIterable([callIn(eventBodyBytes(event), new Headers(headers))]),
    signal: new AbortController().signal,
  })
  const body = response.body ? await readAllBytes(response.body, Number.MAX_SAFE_INTEGER) : new Uint8Array()
  return {
    status: response.status,
    headers: Object.fromEntries(response.header ?? []),
    body: Buffer.from(body),
  }
}
