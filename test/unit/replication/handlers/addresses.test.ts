import { describe, expect, test } from 'vitest'
import {
  parseMemberAddress,
  resolveOwnLinkAddress,
} from '../../../../shared/replication/handlers/addresses.ts'

describe('an address parameter', () => {
  test.each([
    ['', ''],
    ['east.example.com', 'https://east.example.com'],
    ['https://east.example.com/', 'https://east.example.com'],
    ['https://east.example.com:8443', 'https://east.example.com:8443'],
    ['EAST.example.com:443', 'https://east.example.com'],
    ['http://127.0.0.1:8200', 'http://127.0.0.1:8200'],
    ['http://localhost:8200/', 'http://localhost:8200'],
  ])('the address %j is stored as %j', (given, kept) =>
    expect(parseMemberAddress(given, 'x', { plainEndpoints: true })).toBe(kept),
  )

  test.each([
    'http://east.example.com',
    'http://127.0.0.1.example.com',
    'https://east.example.com/vault',
    'ftp://east.example.com',
    'https://me:secret@east.example.com',
    'https://east.example.com?x=1',
    'https://east.example.com#x',
    'https://',
    'https:///x',
    'https:///east.example.com',
    'true',
    'False',
    '5',
    'https://5',
    'https://5:8443',
    ':8200',
    'not an address',
    `https://${'a'.repeat(260)}.example`,
  ])('the address %j is rejected, and not repeated in the error text', given => {
    expect(() => parseMemberAddress(given, 'primary_cluster_addr', { plainEndpoints: true })).toThrow(
      'primary_cluster_addr must be an https address, such as https://east.example.com; give only scheme, host and port; http, and addresses of this machine or its network, are allowed only on the embedded host',
    )
  })
})

test.each([
  'http://127.0.0.1:8200',
  'localhost',
  'https://169.254.169.254',
  'https://[::ffff:169.254.169.254]',
])('a deployment rejects the address %j, which is on its own machine or network', given =>
  expect(() => parseMemberAddress(given, 'primary_api_addr', { plainEndpoints: false })).toThrow(
    'primary_api_addr must be an https address',
  ),
)

test('a cluster without a configured address that is invoked directly has none', () => {
  expect(() => resolveOwnLinkAddress({}, { apiAddress: '', plainEndpoints: false }, { domain: '' })).toThrow(
    'the address of this cluster is unknown',
  )
})
