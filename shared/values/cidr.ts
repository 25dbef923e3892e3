import { isIP } from 'node:net'

/**
 * Reports whether a text is an address or a network (`10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`). Host bits may be set: `10.0.0.1/8` is
 * the network 10.0.0.0/8.
 * @see docs/spec/roles.md#token-parameters
 */
export const isCidr = (text: string): boolean => readNetwork(text) !== undefined

/**
 * Reports whether one of the networks contains an address. An IPv4-mapped IPv6 address (`::ffff:…`) counts as the IPv4 address, and so
 * does a network of such addresses. No other IPv6 network contains IPv4 addresses, not even `::/0`.
 *
 * @param networks texts that `isCidr` accepts; others match nothing
 */
export function anyNetworkContains(networks: readonly string[], address: string): boolean {
  const one = isIP(address) === 0 ? undefined : readNetwork(address)
  return one !== undefined && networks.some(text => contains(readNetwork(text), one))
}

/** Returns the network that contains only this address; undefined for an invalid address. */
export function toHostNetwork(address: string): string | undefined {
  const family = isIP(address)
  const network = family === 0 ? '' : `${address}/${family === 4 ? WIDTH[4] : WIDTH[6]}`
  return isCidr(network) ? network : undefined
}

interface Network {
  family: 4 | 6
  address: bigint
  /** number of significant leading bits */
  bits: number
}

const WIDTH = { 4: 32, 6: 128 } as const
/** Bits before the IPv4 address in `::ffff:0:0/96`. */
const MAPPED_BITS = 96
const MAPPED = 0xffffn

function contains(network: Network | undefined, { family, address }: Network): boolean {
  if (network?.family !== family) return false
  const host = BigInt(WIDTH[family] - network.bits)
  return network.address >> host === address >> host
}

function readNetwork(text: string): Network | undefined {
  const slash = text.indexOf('/')
  const address = slash < 0 ? text : text.slice(0, slash)
  const family = isIP(address)
  if ((family !== 4 && family !== 6) || address.includes('%')) return undefined
  const mask = slash < 0 ? String(WIDTH[family]) : text.slice(slash + 1)
  if (!/^(0|[1-9]\d{0,2})$/.test(mask) || Number(mask) > WIDTH[family]) return undefined
  const bits = Number(mask)
  return family === 4 ? { family, address: readV4(address), bits } : unmapped(readV6(address), bits)
}

const unmapped = (address: bigint, bits: number): Network =>
  address >> 32n === MAPPED && bits >= MAPPED_BITS
    ? { family: 4, address: address & 0xffffffffn, bits: bits - MAPPED_BITS }
    : { family: 6, address, bits }

const readV4 = (text: string): bigint => text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)

function readV6(text: string): bigint {
  const [head = '', tail] = text.split('::')
  const [first, last] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  return [...first, ...Array<bigint>(zeros).fill(0n), ...last].reduce(
    (sum, group) => (sum << 16n) | group,
    0n,
  )
}

/** Returns the 16-bit groups of a part of an address. A part in IPv4 form has two groups. */
const groups = (text: string): bigint[] =>
  text === ''
    ? []
    : text.split(':').flatMap(group => (group.includes('.') ? halves(readV4(group)) : [BigInt(`0x${group}`)]))

const halves = (address: bigint): bigint[] => [address >> 16n, address & 0xffffn]
