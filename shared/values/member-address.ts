import { BlockList, isIP, isIPv4 } from 'node:net'

/*
 * Addresses of other clusters. Addresses of other clusters come from members and activation tokens, so a former
 * member may have chosen them. An address of another cluster must not lead to hosts that only this machine can
 * reach.
 */

/** Exactly `https://host:port`: no trailing path, user, query or fragment, not even an empty one. */
const FORM = /^https?:\/\/[^\s/\\?#@]+\/?$/i
const LONGEST = 255

const NEAR_NAMES =
  /(?:^|\.)(?:localhost|localdomain|metadata|instance-data|instance-data\.ec2\.internal|metadata\.google\.internal|metadata\.goog)$/

/** Unspecified, loopback, link-local and metadata addresses, also in IPv6 forms of IPv4: compatible, NAT64 and 6to4. */
const near = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
] as const)
  near.addSubnet(net, prefix, 'ipv4')
for (const [net, prefix] of [
  ['::', 96],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['64:ff9b::', 104],
  ['64:ff9b::7f00:0', 104],
  ['64:ff9b::a9fe:0', 112],
  ['2002::', 24],
  ['2002:7f00::', 24],
  ['2002:a9fe::', 32],
] as const)
  near.addSubnet(net, prefix, 'ipv6')

/** Reports whether a URL's host is the local machine, its link-local network or its metadata service. */
export function isLocalAddress(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')
  return isIP(host) ? near.check(host, isIPv4(host) ? 'ipv4' : 'ipv6') : NEAR_NAMES.test(host)
}

/** The deployment's rules for addresses. */
export interface AddressRules {
  /** true on the embedded host, where other clusters may run on this machine and use plain http */
  plainEndpoints: boolean
}

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost']

/**
 * Returns the address of another cluster as scheme, host and port.
 * @returns undefined for an address that must not be stored, shown or called
 */
export function normaliseMemberAddress(text: string, { plainEndpoints }: AddressRules): string | undefined {
  if (text.length > LONGEST || !FORM.test(text) || !URL.canParse(text)) return undefined
  const { protocol, hostname, origin } = new URL(text)
  const isPlain = protocol === 'http:'
  if (isPlain && !(plainEndpoints && LOOPBACK.includes(hostname))) return undefined
  return !plainEndpoints && isLocalAddress(hostname) ? undefined : origin
}

/** Returns the usable addresses. */
export const normaliseMemberAddresses = (texts: readonly string[], rules: AddressRules): string[] =>
  texts.flatMap(text => normaliseMemberAddress(text, rules) ?? [])
