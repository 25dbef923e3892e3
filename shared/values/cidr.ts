import { BlockList, isIP } from 'node:net'

/**
 * Whether a text is an address or a network (`10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`).
 * Host bits may be set: `10.0.0.1/8` is the network 10.0.0.0/8.
 * @see auth-behaviour 3.7.4
 */
export const isCidr = (text: string): boolean => split(text) !== undefined

/**
 * Whether an address lies in at least one of the networks. An IPv4 address inside IPv6 (`::ffff:…`)
 * counts as the IPv4 address. @see auth-behaviour T-33
 *
 * @param networks texts that `isCidr` accepts; others match nothing
 */
export function anyContains(networks: readonly string[], address: string): boolean {
  const family = isIP(address)
  if (family === 0) return false
  const list = new BlockList()
  for (const network of networks) {
    const parts = split(network)
    if (parts) list.addSubnet(parts.address, parts.bits, parts.family)
  }
  return list.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

interface Network {
  address: string
  bits: number
  family: 'ipv4' | 'ipv6'
}

function split(text: string): Network | undefined {
  const slash = text.indexOf('/')
  const address = slash < 0 ? text : text.slice(0, slash)
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return undefined
  const widest = version === 4 ? 32 : 128
  const mask = slash < 0 ? String(widest) : text.slice(slash + 1)
  if (!/^(0|[1-9]\d{0,2})$/.test(mask) || Number(mask) > widest) return undefined
  return { address, bits: Number(mask), family: version === 4 ? 'ipv4' : 'ipv6' }
}
