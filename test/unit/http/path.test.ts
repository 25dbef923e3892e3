import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findPathFault, stripApiVersion } from '../../../shared/http/read-request.ts'

describe('canonical paths: CVE-2026-3605', () => {
  test.each([
    '/v1/auth/cloud/role/dev',
    '/auth/cloud/role/dev',
    '/v1/auth/cloud/roles/',
    '/v1/auth/cloud/role/a.b',
    '/v1/auth/cloud/role/..a',
    '/v1/auth/cloud/roletag-denylist/v1:ab//cd+/e=',
    '/v1/auth/cloud/roletag-blacklist/v1:ab//cd',
    '/auth/cloud/roletag-denylist//',
    '/v1/auth/cloud/roletag-denylist/djE6\r\n\tYWI=\n',
    '/v1/sys/policies/acl/a b',
    '/v1/é',
    '/',
  ])('%s is canonical', path => expect(findPathFault(path)).toBeUndefined())

  test.each([
    ['/v1//auth/cloud/role/dev', 'empty segment'],
    ['/v1/auth/cloud//role', 'empty segment'],
    ['/v1/auth/cloud/role/dev//', 'empty segment'],
    ['//v1/auth/cloud/roletag-denylist/x', 'empty segment'],
    ['/v1/auth//roletag-denylist/x//y', 'empty segment'],
    ['/v1/auth/cloud/roletag-denylistx//y', 'empty segment'],
    ['/v1/auth/cloud/role/x/../../config/client', 'dot segment'],
    ['/v1/auth/cloud/./role', 'dot segment'],
    ['/v1/..', 'dot segment'],
    ['/v1/auth/cloud/roletag-denylist/x/../../config/client', 'dot segment'],
    ['/v1/auth/cloud/role\\dev', 'illegal character'],
    ['/v1/auth/cloud/role/a\u0000', 'illegal character'],
    ['/v1/auth/cloud/role/a\n', 'illegal character'],
    ['/v1/auth/cloud/role/a\u007f', 'illegal character'],
    ['/v1/auth/cloud/roletag-denylist/a\u0000', 'illegal character'],
    ['/v1/auth/cloud/roletag-denylist/a\\', 'illegal character'],
    ['/v1/auth/cl\noud/roletag-denylist/a', 'illegal character'],
    ['/v1/sys/auth/auth/x/roletag-denylist/a\n', 'illegal character'],
    ['/v1/sys/auth/auth/x/roletag-denylist/a//b', 'empty segment'],
  ])('%j is rejected for its %s', (path, fault) => expect(findPathFault(path)).toContain(fault))

  test('paths that a URL parser would shorten are rejected, except paths with role tags', () => {
    const part = fc.constantFrom('a', '.', '..', '', 'roletag-denylist', 'auth', 'v1')
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 8 }), parts => {
        const path = `/${parts.join('/')}`
        if (findPathFault(path) !== undefined) return
        const tag = /\/auth\/[^/]+\/roletag-denylist\//.exec(path)
        const checked = tag ? path.slice(0, tag.index + tag[0].length) : path
        expect(new URL(`http://h${checked}`).pathname).toBe(checked)
        expect(checked).not.toContain('//')
      }),
      { numRuns: 1000 },
    )
  })
})

test.each([
  ['/v1/auth/cloud', 'auth/cloud'],
  ['/auth/cloud', 'auth/cloud'],
  ['/v1/v1/auth', 'v1/auth'],
  ['/v1', 'v1'],
  ['/v12/auth', 'v12/auth'],
  ['', ''],
])('stripping `/v1` from the path %j gives %j', (path, below) => expect(stripApiVersion(path)).toBe(below))
