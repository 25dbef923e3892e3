import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  type MountCall,
} from '../api/call.ts'
import { ApiError, invalidRequestError } from '../api/errors.ts'
import { requireSubject } from '../api/subject.ts'
import type { DenyEntry } from '../model/deny-entry.ts'
import { maxTtlOfMount } from '../model/mount.ts'
import type { TidySettings } from '../model/tidy.ts'
import { removeItem, replaceItem } from '../storage/changes.ts'
import { type Item, key } from '../storage/kinds.ts'
import { decodeBase64Url, readBase64, removeWhitespace } from '../values/base64.ts'
import { formatTime } from '../values/time.ts'
import { isTagSignedWith, parseRoleTag } from './role-tags/tag.ts'
import { defaultTidySettings, tidyTimes } from './tidy/settings.ts'

/** Returns the possible meanings of a path parameter, in this order: as sent, decoded from base64, decoded from URL-safe base64. */
export function decodeTagVariants(given: string): string[] {
  const decoded = [readBase64(given), decodeBase64Url(removeWhitespace(given))].map(bytes =>
    bytes?.toString('utf8'),
  )
  return [...new Set([given, ...decoded])].filter(text => text !== undefined && text !== '') as string[]
}

const givenTag = (call: MountCall): string => {
  const tag = call.pathParameters['role_tag'] ?? ''
  if (tag === '') throw invalidRequestError('role_tag is required')
  return tag
}

/** Finds the deny-list entry of a tag, in whichever spelling the entry is stored. */
async function findEntry(call: MountCall): Promise<Item<'deny'> | undefined> {
  const { accessor } = call.mount
  const found = await call.ports.store.read(
    decodeTagVariants(givenTag(call)).map(text => key('deny', accessor, text)),
  )
  return found.find(item => item !== undefined)
}

/**
 * Handles POST roletag-denylist/:role_tag. Denies only validly signed tags of existing roles, because no login accepts any
 * other tag. @see docs/spec/role-tags.md#deny-list
 */
export async function denyRoleTag(call: MountCall): Promise<CallOutcome> {
  const { accessor } = call.mount
  const parsed = decodeTagVariants(givenTag(call)).flatMap(text => {
    const tag = parseRoleTag(text)
    return tag ? [{ text, ...tag }] : []
  })[0]
  if (!parsed) throw invalidRequestError('not a valid role tag: the tag cannot be parsed')
  const place = key('deny', accessor, parsed.text)
  const [role, stored, tidy] = await call.ports.store.read([
    key('role', accessor, parsed.tag.role),
    place,
    key('tidy-settings', accessor, 'roletag-denylist'),
  ])
  if (!role) throw invalidRequestError('not a valid role tag: the role of the tag does not exist')
  const tagKey = await call.ports.cipher.decrypt(role, 'hmacKey', role.data.hmacKey)
  if (!isTagSignedWith(parsed, tagKey))
    throw invalidRequestError('not a valid role tag: the tag was not made for this role')
  const longest = Math.max(parsed.tag.maxTtl, role.data.token.maxTtl, maxTtlOfMount(call.mount))
  const entry: DenyEntry = {
    createdAt: stored?.data.createdAt ?? call.now,
    expiresAt: call.now + longest * 1000,
  }
  return answerAfterChanges([
    replaceItem(place, stored, entry, tidyTimes(entry.expiresAt, tidy?.data ?? defaultTidySettings)),
  ])
}

/** Handles GET roletag-denylist/:role_tag. Returns the entry, with a warning that says until when the tag stays denied. */
export async function readDenyEntry(call: MountCall): Promise<CallOutcome> {
  const [item, [tidy]] = await Promise.all([
    findEntry(call),
    call.ports.store.read([key('tidy-settings', call.mount.accessor, 'roletag-denylist')]),
  ])
  if (!item) throw new ApiError('not_found')
  const { createdAt, expiresAt } = item.data
  return answer(
    dataAnswer({ creation_time: formatTime(createdAt), expiration_time: formatTime(expiresAt) }, [
      outlook(expiresAt, tidy?.data ?? defaultTidySettings),
    ]),
  )
}

/** Describes until when a tag stays denied: until tidy removes its entry. Role tags themselves never expire. */
function outlook(expiresAt: number, { disablePeriodicTidy, safetyBuffer }: TidySettings): string {
  const removal = disablePeriodicTidy
    ? 'until an operator runs tidy, because periodic tidying is disabled'
    : `until a scheduled tidy removes the tag’s entry after ${formatTime(expiresAt + safetyBuffer * 1000)}`
  return (
    `the tag is denied until at least ${formatTime(expiresAt)}, and ${removal}; after that the tag is accepted again. ` +
    'To invalidate all tags of a role permanently, delete the role and create it again'
  )
}

/** Handles DELETE roletag-denylist/:role_tag. */
export async function deleteTagDenial(call: MountCall): Promise<CallOutcome> {
  const item = await findEntry(call)
  return item ? answerAfterChanges([removeItem(item)]) : answer({ kind: 'nothing' })
}

/** Handles GET identity-accesslist/:instance_id. The response includes the nonce. @see docs/spec/login-ec2.md#access-list */
export async function readAccessEntry(call: Call): Promise<CallOutcome> {
  const stored = requireSubject(call, 'access')
  const { clientNonce, ...entry } = stored.data
  const nonce = clientNonce
    ? (await call.ports.cipher.decrypt(stored, 'clientNonce', clientNonce)).reveal()
    : ''
  return answer(
    dataAnswer({
      client_nonce: nonce,
      creation_time: formatTime(entry.createdAt),
      disallow_reauthentication: entry.disallowReauthentication,
      expiration_time: formatTime(entry.expiresAt),
      last_updated_time: formatTime(entry.updatedAt),
      pending_time: entry.pendingTime,
      role: entry.role,
    }),
  )
}
