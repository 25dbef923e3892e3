import type { HttpRequest } from '../../shared/http/request.ts'

/** A request as a front hands it to a function: a POST without token and body, but for `parts`. */
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
