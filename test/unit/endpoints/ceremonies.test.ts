import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'

/** The endpoints that start and cancel a ceremony. */
const attempts = endpointGroups
  .flatMap(group => group.endpoints)
  .filter(({ path, method }) => /\/(?:attempt|init|verify)$/.test(path) && method !== 'GET')
  .filter(({ uses }) => uses.some(use => use === 'ceremony' || (use as string) === 'rekey'))

/** Reports whether API callers of a strict deployment need a token. */
const asks = ({ access, unrouted }: Endpoint): boolean =>
  unrouted === true || access.by !== 'anyone' || access.strictly !== undefined

describe('anonymous callers cannot cancel or take over a ceremony: CVE-2025-52894, CVE-2025-4656, HCSEC-2025-11', () => {
  test('several ceremonies exist, and each can be cancelled', () => {
    const paths = (method: string) => attempts.filter(one => one.method === method).map(one => one.path)
    expect(paths('DELETE').length).toBeGreaterThan(2)
    expect(paths('POST').filter(path => !path.endsWith('verify'))).toEqual(
      paths('DELETE').filter(path => !path.endsWith('verify')),
    )
  })

  test.each(attempts.filter(one => !(one.method === 'POST' && one.path.endsWith('verify'))))(
    '$method $path requires a capability, or has no route',
    endpoint => expect(asks(endpoint)).toBe(true),
  )
})
