import type { HttpRequest } from '../../shared/http/request.ts'

/**
 * Returns a request as a front end passes it to a function: a POST without token and body, with the changes
 * in `parts`.
 */
export const httpRequest = (parts: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'POST',
  path: '/v1/x',
  query: [],
  headers: {},
  body: '',
  bodyLength: Buffer.byteLength(parts.body ?? ''),
  source: '192.0.2.1',
  domain: '',
  gatewayId: 'g-1',
  deadline: 0,
  ...parts,
})
