import { describe, expect, test } from 'vitest'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { readRequestIntake } from '../../../shared/http/intake.ts'
import { portsWith } from '../../builders/ports.ts'
import writes from '../../vectors/client-writes.json' with { type: 'json' }

// Requests recorded between a host and real clients, without secrets. The Terraform provider's requests come
// from its resources.
const recorded = writes as [client: string, method: string, path: string, body: object | null][]

const ports = portsWith({ deployment: {}, clock: { now: () => 0 } })

/** Parses a request with the endpoint that serves it. */
async function take(method: string, path: string, body: object | null) {
  const text = body === null ? '' : JSON.stringify(body)
  for (const { name, endpoints } of endpointGroups) {
    const reading = endpoints.map(({ prepare: _, ...row }) => row)
    const intake = await readRequestIntake(
      { name, endpoints: reading },
      {
        method,
        path,
        query: [],
        headers: {},
        body: text,
        bodyLength: text.length,
        source: '192.0.2.1',
        domain: '',
        gatewayId: 'g',
        deadline: 1,
      },
      'r-1',
      ports,
    )
    if (!('miss' in intake.match)) return intake
  }
  throw new Error(`no endpoint serves ${method} ${path}`)
}

describe('requests written as third-party clients write requests', () => {
  test.each(recorded)(
    '%s: the request %s %s has no unknown field, so the response is 204 without a warning',
    async (_, method, path, body) => {
      const { match, fault, bodyFault, warnings, unknownFields } = await take(method, path, body)
      expect([fault, bodyFault]).toEqual([undefined, undefined])
      if ('miss' in match || match.endpoint.answers !== 'nothing') return
      expect([unknownFields, warnings.filter(text => text.startsWith('unknown'))]).toEqual([false, []])
    },
  )

  test('a misspelt field of such a request is unknown', async () => {
    const { unknownFields } = await take('POST', '/v1/auth/aws/config/sts/111122223333', { sts_rolle: 'x' })
    expect(unknownFields).toBe(true)
  })
})
