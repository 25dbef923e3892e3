import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyNetworkContains, isCidr, toHostNetwork } from '../../../shared/values/cidr.ts'

describe('isCidr', () => {
  test.each([
    '10.0.0.1',
    '10.0.0.0/8',
    '10.0.0.1/8',
    '0.0.0.0/0',
    '255.255.255.255/32',
    '::',
    '::/0',
    '2001:db8::/32',
    '2001:db8::1/128',
    '::ffff:10.0.0.0/104',
    '2001:0db8:0000:0000:0000:0000:0000:0001',
  ])('%s is a network', text => {
    expect(isCidr(text)).toBe(true)
  })

  test.each([
    '',
    '/',
    '/8',
    '10.0.0.0/',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/08',
    '10.0.0.0/+8',
    '10.0.0.0/8.0',
    '10.0.0.0/8/8',
    '10.0.0.0/8 ',
    ' 10.0.0.0/8',
    '10.0.0.0/255.0.0.0',
    '10.0.0/8',
    '010.0.0.1',
    '0x0a.0.0.1',
    '10.0.0.256',
    '1.2.3.4.5',
    '2001:db8::/129',
    '2001:db8::/1280',
    'fe80::1%eth0',
    'fe80::1%eth0/64',
    '1::2::3',
    '::1.2.3',
    'localhost',
    '10.0.0.0/8\n',
    '__proto__',
  ])('%j is not a network', text => {
    expect(isCidr(text)).toBe(false)
  })
})

describe('anyNetworkContains', () => {
  const v6 = ['::', '::1', '::1.2.3.4', 'fe80::1', '2001:db8::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff']
  const v4 = ['0.0.0.0', '10.0.0.1', '127.0.0.1', '255.255.255.255']
  const mapped = v4.map(address => `::ffff:${address}`)

  test.each([
    ['0.0.0.0/0', [...v4, ...mapped], v6],
    ['::ffff:0:0/96', [...v4, ...mapped], v6],
    ['::/0', v6, [...v4, ...mapped]],
    ['::/1', ['::', '::1'], [...v4, ...mapped]],
    ['::ffff:0:0/95', ['::fffe:0:1'], [...v4, ...mapped]],
    [
      '10.0.0.0/8',
      ['10.0.0.0', '10.255.255.255', '::ffff:10.1.2.3', '::ffff:a01:203'],
      ['9.255.255.255', '11.0.0.0', 'a00::', '::10.0.0.1'],
    ],
    ['10.9.8.7/8', ['10.1.2.3'], ['11.9.8.7']],
    ['::ffff:10.0.0.0/104', ['10.1.2.3', '::ffff:10.1.2.3'], ['11.0.0.0', '::10.1.2.3']],
    ['10.0.0.1', ['10.0.0.1', '::ffff:10.0.0.1', '::FFFF:A00:1'], ['10.0.0.2', '10.0.0.0']],
    ['::ffff:10.0.0.1', ['10.0.0.1'], ['10.0.0.2']],
    ['10.0.0.128/25', ['10.0.0.128', '10.0.0.255'], ['10.0.0.127', '10.0.1.128']],
    ['2001:db8::/32', ['2001:db8::', '2001:db8:ffff::1', '2001:0DB8::1'], ['2001:db9::', '2001:db7:ffff::']],
    ['2001:db8::1', ['2001:db8::1', '2001:db8:0:0:0:0:0:1'], ['2001:db8::2']],
    ['fe80::/10', ['fe80::1', 'febf::1'], ['fec0::1', 'fe80::1%eth0']],
    ['1:2:3:4:5:6:7::', ['1:2:3:4:5:6:7:0'], ['1:2:3:4:5:6:7:1']],
    ['::2:3:4:5:6:7:8', ['0:2:3:4:5:6:7:8'], ['1:2:3:4:5:6:7:8']],
    ['64:ff9b::1.2.3.4', ['64:ff9b::102:304'], ['1.2.3.4', '64:ff9b::102:305']],
  ])('%s contains exactly its addresses', (network, inside, outside) => {
    expect(inside.filter(address => !anyNetworkContains([network], address))).toEqual([])
    expect(outside.filter(address => anyNetworkContains([network], address))).toEqual([])
  })

  test('one of several networks is enough, and an empty list contains nothing', () => {
    expect(anyNetworkContains(['192.0.2.0/24', '10.0.0.0/8'], '10.1.1.1')).toBe(true)
    expect(anyNetworkContains([], '10.1.1.1')).toBe(false)
  })

  test.each(['', 'unknown', '10.0.0.1:443', '[::1]', '10.0.0.1/32', '10.0.0', '10.0.0.1, 10.0.0.2'])(
    'a source of %j is in no network',
    source => {
      expect(anyNetworkContains(['0.0.0.0/0', '::/0'], source)).toBe(false)
    },
  )

  test('an invalid network contains nothing and does not affect others', () => {
    expect(anyNetworkContains(['10.0.0.0/33'], '10.0.0.1')).toBe(false)
    expect(anyNetworkContains(['junk', '10.0.0.0/8'], '10.0.0.1')).toBe(true)
  })

  test('an address is in its own networks of all lengths, its neighbour in no longer one', () => {
    const neighbour = (address: string, bit: number) => {
      const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
      const other = value ^ (2 ** (31 - bit))
      return [24, 16, 8, 0].map(shift => (other >>> shift) & 255).join('.')
    }
    fc.assert(
      fc.property(fc.ipV4(), fc.nat(31), (address, bit) => {
        const other = neighbour(address, bit)
        expect(anyNetworkContains([`${address}/${bit}`], other)).toBe(true)
        expect(anyNetworkContains([`${address}/${bit + 1}`], other)).toBe(false)
      }),
    )
  })

  test('all spellings of an IPv6 address are equal', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), groups => {
        const full = groups.map(group => group.toString(16).padStart(4, '0')).join(':')
        const short = new URL(`http://[${full}]`).hostname.slice(1, -1)
        expect(anyNetworkContains([full], short)).toBe(true)
        expect(anyNetworkContains([short], full.toUpperCase())).toBe(true)
      }),
    )
  })
})

describe('the network of a single address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1/128'],
    ['', undefined],
    ['192.0.2.0/24', undefined],
    ['fe80::1%eth0', undefined],
  ])('the host network of %j is %s', (address, network) => expect(toHostNetwork(address)).toBe(network))

  test('the host network contains only its address', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), fc.oneof(fc.ipV4(), fc.ipV6()), (one, other) => {
        const networks = [toHostNetwork(one) ?? '']
        expect(anyNetworkContains(networks, one)).toBe(true)
        fc.pre(toHostNetwork(other) !== toHostNetwork(one))
        expect(anyNetworkContains(networks, other)).toBe(anyNetworkContains([one], other))
      }),
    )
  })
})
