import { describe, expect, test } from 'vitest'
import { parsePrimaryUpdate } from '../../../../shared/replication/handlers/update-primary.ts'

/** Returns the parsed update, or the error text. */
function wanted(raw: Record<string, unknown>): unknown {
  const given = raw['token'] === null ? { ...raw, token: '' } : raw
  try {
    return parsePrimaryUpdate({ raw, parameters: given } as Parameters<typeof parsePrimaryUpdate>[0], {
      plainEndpoints: false,
    })
  } catch (error) {
    const { code, message } = error as { code: string; message: string }
    return `${code}: ${message}`
  }
}

const NEITHER =
  'invalid_request: neither token nor update_primary_addrs is given; give the token that the other primary has made, or "" to follow no primary'
const BOTH =
  'invalid_request: both token and update_primary_addrs are given; give the token of another primary, or addresses of the present primary'
const NO_ADDRESS =
  'invalid_request: update_primary_addrs must have 1 to 16 addresses; list the addresses of the primary in the order of the attempts'

describe('parameters of secondary/update-primary', () => {
  test.each<[name: string, raw: Record<string, unknown>, expected: unknown]>([
    ['a token', { token: 'a.b.c' }, { form: 'token', addresses: [] }],
    [
      'a token and the primary’s address',
      { token: 't', primary_api_addr: 'https://a', ca_cert: 'PEM' },
      { form: 'token', addresses: [] },
    ],
    ['an empty token, to follow nobody', { token: '' }, { form: 'clear', addresses: [] }],
    [
      'addresses, without duplicates and in their order',
      { update_primary_addrs: ['b.example/', 'https://a', 'https://b.example'] },
      { form: 'addresses', addresses: ['https://b.example', 'https://a'] },
    ],
    [
      'a token and an empty list of addresses',
      { token: 't', update_primary_addrs: [] },
      { form: 'token', addresses: [] },
    ],
    [
      'an empty token and an empty list of addresses',
      { token: '', update_primary_addrs: [] },
      { form: 'clear', addresses: [] },
    ],
    [
      'empty optional fields',
      { update_primary_addrs: ['https://a'], primary_api_addr: '', ca_file: '' },
      { form: 'addresses', addresses: ['https://a'] },
    ],
    ['no parameter', {}, NEITHER],
    ['a token that is null', { token: null }, NEITHER],
    ['a token and addresses', { token: 't', update_primary_addrs: ['https://a'] }, BOTH],
    ['an empty token and addresses', { token: '', update_primary_addrs: ['https://a'] }, BOTH],
    ['an empty list of addresses', { update_primary_addrs: [] }, NO_ADDRESS],
    [
      'an empty list of addresses and a token that is null',
      { token: null, update_primary_addrs: [] },
      NO_ADDRESS,
    ],
    [
      'more than 16 addresses',
      { update_primary_addrs: Array.from({ length: 17 }, (_, n) => `https://a${n}`) },
      NO_ADDRESS,
    ],
    [
      'addresses with certificates',
      { update_primary_addrs: ['https://a'], ca_cert: 'PEM' },
      'invalid_request: ca_cert is only allowed with a token; leave it out',
    ],
    [
      'an empty token with an address',
      { token: '', primary_api_addr: 'https://a' },
      'invalid_request: primary_api_addr is only allowed with a token; leave it out',
    ],
    [
      'a malformed address',
      { update_primary_addrs: ['http://far.example'] },
      'invalid_request: update_primary_addrs must be an https address, such as https://east.example.com; give only scheme, host and port; http, and addresses of this machine or its network, are allowed only on the embedded host',
    ],
  ])('%s', (_, raw, expected) => {
    expect(wanted(raw)).toEqual(expected)
  })
})
