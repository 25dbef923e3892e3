import { describe, expect, test } from 'vitest'
import { normaliseMemberAddress } from '../../../shared/values/member-address.ts'

const deployed = { plainEndpoints: false }
const host = { plainEndpoints: true }

describe('addresses of other clusters: CVE-2026-5052, HCSEC-2026-06', () => {
  test.each([
    ['https://east.example.com', 'https://east.example.com'],
    ['https://EAST.example.com:443/', 'https://east.example.com'],
    ['https://east.example.com:8443', 'https://east.example.com:8443'],
    ['https://10.0.0.7:8443', 'https://10.0.0.7:8443'],
    ['https://[2001:db8::7]', 'https://[2001:db8::7]'],
    ['https://localhost.example.com', 'https://localhost.example.com'],
  ])('%s is stored as %s', (given, kept) => expect(normaliseMemberAddress(given, deployed)).toBe(kept))

  test.each([
    '',
    'east.example.com',
    'ftp://east.example.com',
    'file:///etc/passwd',
    'http://east.example.com',
    'https://me@east.example.com',
    'https://@east.example.com',
    'https://me:secret@east.example.com',
    'https://east.example.com/x',
    'https://east.example.com//',
    'https://east.example.com?',
    'https://east.example.com#',
    'https://east.example.com\\@evil.example',
    'https://east.example.com\n',
    ' https://east.example.com',
    'https://east.example.com:99999',
    `https://${'a'.repeat(250)}.example`,
  ])('%j is rejected, also on the embedded host', given => {
    expect(normaliseMemberAddress(given, deployed)).toBeUndefined()
    expect(normaliseMemberAddress(given, host)).toBeUndefined()
  })

  test.each([
    'https://127.0.0.1',
    'https://127.9.9.9:8200',
    'https://127.0.0.1.',
    'https://127.1',
    'https://2130706433',
    'https://0x7f000001',
    'https://0177.0.0.1',
    'https://localhost',
    'https://LOCALHOST.',
    'https://x.localhost',
    'https://0.0.0.0',
    'https://0',
    'https://169.254.169.254',
    'https://169.254.170.2',
    'https://2852039166',
    'https://0xa9.0xfe.0xa9.0xfe',
    'https://169.254.43518',
    'https://①②⑦.0.0.1',
    'https://[::]',
    'https://[::1]',
    'https://[0:0:0:0:0:0:0:1]:8200',
    'https://[::ffff:127.0.0.1]',
    'https://[::ffff:a9fe:a9fe]',
    'https://[::127.0.0.1]',
    'https://[64:ff9b::a9fe:a9fe]',
    'https://[2002:a9fe:a9fe::]',
    'https://[fe80::1]',
    'https://[febf::1]',
    'https://[fd00:ec2::254]',
    'https://metadata.google.internal',
    'https://metadata.google.internal.',
    'https://instance-data.ec2.internal',
    'https://instance-data',
  ])('%s is accepted only on the embedded host', given => {
    expect(normaliseMemberAddress(given, deployed)).toBeUndefined()
    expect(normaliseMemberAddress(given, host)).toBe(new URL(given).origin)
  })

  test('plain http is accepted only for loopback addresses on the embedded host', () => {
    for (const given of ['http://127.0.0.1:8200', 'http://localhost:8200', 'http://[::1]:8200']) {
      expect(normaliseMemberAddress(given, host)).toBe(given)
      expect(normaliseMemberAddress(given, deployed)).toBeUndefined()
    }
    expect(normaliseMemberAddress('http://169.254.169.254', host)).toBeUndefined()
  })
})
