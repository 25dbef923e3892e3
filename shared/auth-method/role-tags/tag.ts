import { createHmac } from 'node:crypto'
import { DEFAULT_POLICY_NAME, sanitisePolicies } from '../../policies/names.ts'
import type { TokenParameters } from '../../tokens/terms.ts'
import { decodeBase64 } from '../../values/base64.ts'
import { lowerAscii } from '../../values/names.ts'
import { type Secret, secretsEqual } from '../../values/secret.ts'

/** The parsed content of a role tag. @see docs/spec/role-tags.md#format */
export interface RoleTag {
  /** standard base64 of 8 random bytes */
  nonce: string
  role: string
  disallowReauthentication: boolean
  allowInstanceMigration: boolean
  /** `policies`, sanitised; empty: the tag does not restrict policies */
  policies: readonly string[]
  /** lower case; empty: any instance */
  instanceId: string
  /** seconds; 0: no limit */
  maxTtl: number
}

/** Maximum length of an EC2 tag value. */
export const MAX_TAG_LENGTH = 255

/** Returns the text to sign: the tag's items in a fixed order, without unset items. */
export const signedTagText = (tag: RoleTag): string =>
  [
    'v1',
    tag.nonce,
    `r=${tag.role}`,
    `d=${tag.disallowReauthentication}`,
    `m=${tag.allowInstanceMigration}`,
    ...(tag.policies.length > 0 ? [`p=${tag.policies.join(',')}`] : []),
    ...(tag.instanceId === '' ? [] : [`i=${tag.instanceId}`]),
    ...(tag.maxTtl > 0 ? [`t=${tag.maxTtl}`] : []),
  ].join(':')

const macOf = (plain: string, key: Secret): string =>
  createHmac('sha256', key.reveal()).update(plain).digest('base64')

/** Returns the tag's value, signed with the role's key. */
export const renderRoleTag = (tag: RoleTag, key: Secret): string =>
  `${signedTagText(tag)}:${macOf(signedTagText(tag), key)}`

type Item = keyof typeof readers
type Draft = Partial<Record<Item, string>>

/** The pattern of each item's text, by the item's prefix. */
const readers = {
  r: /^[^:]+$/,
  d: /^(?:true|false)$/,
  m: /^(?:true|false)$/,
  p: /^[^:]+$/,
  i: /^[^:]+$/,
  t: /^[1-9]\d{0,9}$/,
} as const

/**
 * Parses a tag without verifying its signature. The parser accepts only the canonical text of a tag. The
 * deny list has texts as its keys, so a denied tag in another spelling would be valid again. @see docs/spec/role-tags.md#canonical-text
 */
export function parseRoleTag(value: string): { tag: RoleTag; plain: string; mac: string } | undefined {
  if (value.length > MAX_TAG_LENGTH) return undefined
  const [version, nonce = '', ...rest] = value.split(':')
  const mac = rest.pop() ?? ''
  const draft = readItems(rest)
  if (version !== 'v1' || decodeBase64(nonce)?.length !== 8 || decodeBase64(mac)?.length !== 32 || !draft?.r)
    return undefined
  const tag: RoleTag = {
    nonce,
    role: lowerAscii(draft.r),
    disallowReauthentication: draft.d === 'true',
    allowInstanceMigration: draft.m === 'true',
    policies: sanitisePolicies(draft.p?.split(',') ?? []),
    instanceId: lowerAscii(draft.i ?? ''),
    maxTtl: Number(draft.t ?? 0),
  }
  const plain = signedTagText(tag)
  return value === `${plain}:${mac}` ? { tag, plain, mac } : undefined
}

function readItems(items: readonly string[]): Draft | undefined {
  const draft: Draft = {}
  for (const item of items) {
    const name = item[0] as Item
    if (item[1] !== '=' || !Object.hasOwn(readers, name) || !readers[name].test(item.slice(2)))
      return undefined
    draft[name] = item.slice(2)
  }
  return draft
}

/** Reports whether this key signed the tag. */
export const isTagSignedWith = ({ plain, mac }: { plain: string; mac: string }, key: Secret): boolean =>
  secretsEqual(macOf(plain, key), mac)

/**
 * Reports whether the role has all of a tag's policies. The policy `default` counts as the role's, unless the role
 * excludes it.
 */
export function isTagWithinRole(
  policies: readonly string[],
  role: Pick<TokenParameters, 'policies' | 'noDefaultPolicy'>,
): boolean {
  const allowed = sanitisePolicies(
    role.noDefaultPolicy ? role.policies : [...role.policies, DEFAULT_POLICY_NAME],
  )
  return sanitisePolicies(policies).every(name => allowed.includes(name))
}
