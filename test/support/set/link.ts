import type { RequestListener } from 'node:http'
import type { FrontAnswer, FrontEvent } from '../../../shared/http/events.ts'

/**
 * Passes HTTP/1.1 requests to the Lambda of the link as an HTTP API does. @param seen content types of the
 * requests
 */
export function linkGateway(
  invoke: (event: FrontEvent) => Promise<Pick<FrontAnswer, 'statusCode' | 'headers' | 'body'>>,
  seen: string[] = [],
): RequestListener {
  return async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    seen.push(String(request.headers['content-type']))
    const answer = await invoke({
      version: '2.0',
      rawPath: request.url ?? '',
      headers: request.headers as Record<string, string>,
      body: Buffer.concat(chunks).toString('base64'),
      isBase64Encoded: true,
      requestContext: { domainName: request.headers.host ?? '', http: { method: request.method ?? '' } },
    })
    response.writeHead(answer.statusCode, answer.headers).end(Buffer.from(answer.body, 'base64'))
  }
}
