import { parse } from 'node:querystring'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  readSignedRequest,
  type SignedRequest,
  type SignedRequestInput,
} from '../../../shared/identity-proof/signed-request.ts'
import { rebuildStsRequest } from '../../../shared/identity-proof/sts-request.ts'
import {
  authorization,
  base64,
  getInput,
  postInput,
  queryText,
  usualQuery,
  usualRules,
} from '../../builders/signed-request.ts'

function read(input: SignedRequestInput): SignedRequest | undefined {
  try {
    return readSignedRequest(input)
  } catch {
    return undefined
  }
}

/**
 * Query parsers with different rules: the web's usualRules, Node's, with semicolons, case-insensitive, and
 * decoding twice.
 */
const readings: Record<string, (query: string) => [string, string][]> = {
  web: query => [...new URLSearchParams(query)],
  node: query => Object.entries(parse(query)).map(([name, value]) => [name, String(value)]),
  semicolons: query => [...new URLSearchParams(query.replaceAll(';', '&'))],
  'last of a name': query => [...new Map(new URLSearchParams(query))],
  'decoded twice': query =>
    [...new URLSearchParams(query)].map(([name, value]) => [
      decodeURIComponent(name),
      decodeURIComponent(value),
    ]),
}

describe('an accepted query has one interpretation: CVE-2022-2385', () => {
  const usual = queryText(usualQuery)
  const piece = fc.oneof(
    fc.constantFrom(
      '&',
      ';',
      '=',
      '+',
      '%',
      '%26',
      '%3D',
      '%25',
      '%41',
      '#',
      '?',
      '/',
      'action',
      'Action=',
      'X-Amz-Credential=',
      '&x-amz-date=1',
      '%00',
      '\\',
      '[]',
    ),
    fc.string({ maxLength: 3 }),
  )

  test('every parser reads the same parameters', () => {
    fc.assert(
      fc.property(fc.nat(usual.length), fc.nat(3), piece, (at, cut, inserted) => {
        const query = usual.slice(0, at) + inserted + usual.slice(at + cut)
        const accepted = read({ ...getInput(), url: base64(`https://sts.amazonaws.com/?${query}`) })
        if (!accepted) return
        for (const [name, other] of Object.entries(readings))
          expect([name, other(query)]).toEqual([name, accepted.query])
        expect(Object.fromEntries(accepted.query)).toMatchObject({ Action: 'GetCallerIdentity' })
        expect(accepted.target).toBe(`/?${query}`)
      }),
      { numRuns: 400 },
    )
  })
})

describe('headers that are sent to STS', () => {
  const names = [
    'Accept',
    'Accept-Encoding',
    'Connection',
    'Content-Length',
    'Content-Type',
    'Cookie',
    'Expect',
    'Host',
    'Proxy-Authorization',
    'TE',
    'Transfer-Encoding',
    'X-Amz-Target',
    'X-Custom',
    'X-Vault-Token',
  ]
  const some = fc.subarray(names)
  const ours = ['accept', 'accept-encoding', 'content-length', 'content-type']
  const needed = ['authorization', 'content-type', 'x-amz-date']
  const never = ['connection', 'expect', 'host', 'proxy-authorization', 'te', 'transfer-encoding']

  test('only signed, needed or allowed headers are sent, and no connection headers', () => {
    fc.assert(
      fc.property(some, some, some, fc.boolean(), (given, signed, allowedHeaders, lower) => {
        const spelled = given.map(name => [
          lower ? name.toLowerCase() : name,
          name === 'Host' ? 'sts.amazonaws.com' : 'x',
        ])
        const signedNames = [...new Set(['host', ...signed.map(name => name.toLowerCase())])]
        const input = postInput(
          {},
          {
            headers: { ...Object.fromEntries(spelled), Authorization: authorization(signedNames.join(';')) },
          },
        )
        const request = read(input) ?? expect.fail()
        const rebuilt = rebuildStsRequest(request, { ...usualRules, allowedHeaders })
        if (!rebuilt.ok) return
        const sent = rebuilt.value.headers.map(([name]) => name.toLowerCase())
        const allowed = [
          ...ours,
          ...needed,
          ...signedNames,
          ...allowedHeaders.map(name => name.toLowerCase()),
        ]
        expect(sent.filter(name => never.includes(name) || !allowed.includes(name))).toEqual([])
        expect(new Set(sent).size).toBe(sent.length)
        const accept = rebuilt.value.headers.find(([name]) => name === 'Accept')?.[1]
        expect(accept === 'application/xml' || signedNames.includes('accept')).toBe(true)
      }),
      { numRuns: 300 },
    )
  })
})
