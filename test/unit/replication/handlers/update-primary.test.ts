import { describe, expect, test } from 'vitest'
import { parseUpdate } from '../../../../shared/replication/handlers/update-primary.ts'

/** What a request wants, or why it is refused. */
function wanted(raw: Record<string, unknown>): unknown {
  const given = raw['token'] === null ? { ...raw, token: '' } : raw
  try {
    return parseUpdate({ raw, parameters: given } as Parameters<typeof parseUpdate>[0], {
      plainEndpoints: false,
    })
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return `${code}: ${message}`
  }
}

const NEITHER =
  'invalid_request: neither token nor update_primary_addrs is given; give the token that the other primary has made, or "" to follow nobody'
const BOTH =
  'invalid_request: both token and update_primary_addrs are given; give the token of another primary, or the addresses of the same one'
const NO_ADDRESS =
  'invalid_request: update_primary_addrs has no address, or more than 16; list where the primary may be reached, in the order in which it shall be asked'

describe('an update of the primary is asked for', () => {
  test.each<[name: string, raw: Record<string, unknown>, expected: unknown]>([
    ['by a token', { token: 'a.b.c' }, { form: 'token', addresses: [] }],
    [
      'by a token and where to reach the primary',
      { token: 't', primary_api_addr: 'https://a', ca_cert: 'PEM' },
      { form: 'token', addresses: [] },
    ],
    ['by the empty token, which forgets', { token: '' }, { form: 'clear', addresses: [] }],
    [
      'by addresses, each once, in their order',
      { update_primary_addrs: ['b.example/', 'https://a', 'https://b.example'] },
      { form: 'addresses', addresses: ['https://b.example', 'https://a'] },
    ],
    [
      'by a token beside no address at all',
      { token: 't', update_primary_addrs: [] },
      { form: 'token', addresses: [] },
    ],
    [
      'by the empty token beside no address at all',
      { token: '', update_primary_addrs: [] },
      { form: 'clear', addresses: [] },
    ],
    [
      'with fields that say nothing',
      { update_primary_addrs: ['https://a'], primary_api_addr: '', ca_file: '' },
      { form: 'addresses', addresses: ['https://a'] },
    ],
    ['by nothing', {}, NEITHER],
    ['by a token that is null, which is none', { token: null }, NEITHER],
    ['both ways', { token: 't', update_primary_addrs: ['https://a'] }, BOTH],
    ['both ways, to forget', { token: '', update_primary_addrs: ['https://a'] }, BOTH],
    ['by an empty list', { update_primary_addrs: [] }, NO_ADDRESS],
    ['by an empty list and a token that is null', { token: null, update_primary_addrs: [] }, NO_ADDRESS],
    [
      'by a long list',
      { update_primary_addrs: Array.from({ length: 17 }, (_, n) => `https://a${n}`) },
      NO_ADDRESS,
    ],
    [
      'by addresses with certificates',
      { update_primary_addrs: ['https://a'], ca_cert: 'PEM' },
      'invalid_request: ca_cert goes with a token only; leave it out',
    ],
    [
      'by the empty token with an address',
      { token: '', primary_api_addr: 'https://a' },
      'invalid_request: primary_api_addr goes with a token only; leave it out',
    ],
    [
      'by what is no address',
      { update_primary_addrs: ['http://far.example'] },
      'invalid_request: update_primary_addrs must be an https address, such as https://east.example.com; give scheme, host and port and nothing else; only the embedded host takes http, and addresses of this machine or its network',
    ],
  ])('%s', (_, raw, expected) => {
    expect(wanted(raw)).toEqual(expected)
  })
})
