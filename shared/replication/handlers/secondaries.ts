import {
  addWarnings,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  type EarlyCall,
} from '../../api/call.ts'
import { ApiError } from '../../api/errors.ts'
import { boolField, durationField, textField } from '../../api/fields.ts'
import {
  activationTokenItemKeys,
  isSecondaryNameTaken,
  makeActivationToken,
} from '../../link/admin/activation.ts'
import { decryptOwnLinkKey, makePendingLinkKey } from '../../link/admin/keys.ts'
import {
  auditRevocation,
  findReplacedAdmission,
  makeRevocationChanges,
} from '../../link/admin/secondaries.ts'
import { isExchangeKey, parseLinkPublicKeys } from '../../link/pair.ts'
import { type Item, itemPartitions } from '../../storage/kinds.ts'
import { encodeBase62 } from '../../values/base62.ts'
import { NAME_PATTERN } from '../../values/names.ts'
import { formatTime } from '../../values/time.ts'
import {
  invalidPublicKeyError,
  invalidSecondaryIdError,
  invalidTokenTtlError,
  secondaryIdTakenError,
} from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { resolveOwnLinkAddress } from './addresses.ts'

export const secondaryTokenFields = {
  id: textField('Unique name of the secondary', { required: true }),
  ttl: durationField('Lifetime of the token; default 30 minutes, at most a day'),
  secondary_public_key: textField(
    'Public key that the secondary has generated; then only the secondary can decrypt the token',
  ),
  replace: boolField(
    'End an earlier admission with this name in the same transaction; without replace, a name that is in use is rejected',
  ),
}

const DEFAULT_TOKEN_TTL_SECONDS = 1800
/** One day. An activation token that is unused for longer than a day is probably lost. */
const LONGEST_TTL = 86_400
const LONGEST_ID = 128
const ACCESSOR = { bytes: 17, length: 24 }

/** Reads the items that a new token needs together with the request's first read. */
export const prepareSecondaryToken = async ({ parameters }: EarlyCall<typeof secondaryTokenFields>) => ({
  keys: activationTokenItemKeys(parameters.id ?? ''),
})

/**
 * Runs the first step of primary/secondary-token: if the new token replaces an admission, writes the revocation of
 * that admission to the audit log.
 */
export async function auditReplacement(call: Call<typeof secondaryTokenFields>): Promise<void> {
  const { before } = checkTokenRequest(call)
  const revoking = call.parameters.replace ? findReplacedAdmission(before.secondary) : undefined
  if (revoking) await auditRevocation(revoking, call.request.id, call.cluster.record, call.ports)
}

/**
 * Handles POST sys/replication/dr/primary/secondary-token: makes an activation token with which a cluster becomes a
 * secondary of this one. The token's name is taken from now on, even if nobody uses the token.
 */
export async function makeSecondaryToken(call: Call<typeof secondaryTokenFields>): Promise<CallOutcome> {
  const { id, ttl, publicKey, before } = checkTokenRequest(call)
  const { ports, now, request } = call
  const { record } = call.cluster
  const ended = call.parameters.replace ? await endAdmission(call, before.secondary) : undefined
  const items = ended ? { ...before, secondary: ended.admission } : before
  if (!record.link || record.set === undefined || record.epoch === undefined)
    throw new ApiError('internal', 'this primary has no set, no epoch or no link key')
  const address = resolveOwnLinkAddress(record, ports.deployment, request)
  const pair = await decryptOwnLinkKey(record.link.ownKey, ports.cipher)
  const { token, changes } = await makeActivationToken(
    {
      id,
      set: record.set,
      address,
      ttl: ttl * 1000,
      epoch: record.epoch,
      now,
      ...(publicKey ? { publicKey } : {}),
    },
    items,
    pair,
    ports,
  )
  const all = [...(ended?.changes ?? []), ...changes]
  const warnings = ended?.warnings ?? []
  if (publicKey) return answerAfterChanges(all, dataAnswer({ token: token.reveal() }, warnings))
  const info = {
    token: token.reveal(),
    accessor: encodeBase62(ports.entropy.bytes(ACCESSOR.bytes), ACCESSOR.length),
    ttl,
    creation_time: formatTime(now),
    creation_path: request.path,
  }
  return answerAfterChanges(all, addWarnings({ kind: 'wrapped', info }, warnings))
}

/**
 * Ends the admission that a new token replaces. @returns the revoked admission, and changes of other items;
 * undefined if no valid admission has this name
 */
async function endAdmission({ ports, now, cluster }: Call, before?: Item<'secondary'>) {
  const revoking = findReplacedAdmission(before)
  if (!before || !revoking) return undefined
  const [secondaries, holders] = await Promise.all([
    ports.store.list(itemPartitions('secondary')),
    ports.store.list(itemPartitions('holder')),
  ])
  const others = secondaries.filter(({ sk }) => sk !== before.sk)
  const items = { secondaries: others, holders }
  return {
    admission: { ...before, data: { ...before.data, revokedAt: now } },
    changes: makeRevocationChanges(revoking, items, { at: now, as: cluster.record }),
    warnings:
      revoking.cluster === undefined
        ? []
        : [
            `the cluster ${revoking.cluster}, which was admitted as ${revoking.name}, is refused until it uses a new token`,
          ],
  }
}

/**
 * Validates the request for a token, and returns the items stored under its name. @throws ApiError for the first
 * violated rule
 */
function checkTokenRequest({ parameters, cluster: { record }, fetched }: Call<typeof secondaryTokenFields>) {
  const wish = parseTokenRequest(parameters)
  checkRoleTransition('primary/secondary-token', record)
  const [secondaryKey, signerKey] = activationTokenItemKeys(wish.id)
  const before = { secondary: fetched.get(secondaryKey), tokenKey: fetched.get(signerKey) }
  if (!parameters.replace && isSecondaryNameTaken(before, record)) throw secondaryIdTakenError(wish.id)
  return { ...wish, before }
}

function parseTokenRequest({
  id = '',
  ttl = DEFAULT_TOKEN_TTL_SECONDS,
  secondary_public_key = '',
}: Call<typeof secondaryTokenFields>['parameters']) {
  if (!NAME_PATTERN.test(id) || id.length > LONGEST_ID) throw invalidSecondaryIdError()
  if (ttl <= 0 || ttl > LONGEST_TTL) throw invalidTokenTtlError()
  const keys = secondary_public_key === '' ? undefined : parseLinkPublicKeys(secondary_public_key)
  if (secondary_public_key !== '' && !(keys && isExchangeKey(keys.exchange))) throw invalidPublicKeyError()
  return { id, ttl, publicKey: secondary_public_key }
}

/**
 * Handles POST sys/replication/dr/secondary/generate-public-key: makes keys for the next link of this cluster, and
 * deletes earlier pending keys. The current link keeps its own keys.
 */
export async function generateLinkPublicKey(call: Call): Promise<CallOutcome> {
  checkRoleTransition('secondary/generate-public-key', call.cluster.record)
  const { publicKey, changes } = await makePendingLinkKey(call.now, call.ports)
  return answerAfterChanges(changes, dataAnswer({ secondary_public_key: publicKey }))
}
