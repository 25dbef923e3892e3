import {
  answer,
  answerAfterChanges,
  type Call,
  type CallOutcome,
  dataAnswer,
  keyListAnswer,
  type MountCall,
  type RequestPhases,
} from '../../api/call.ts'
import { createApiError, invalidRequestError } from '../../api/errors.ts'
import { boolField, textField } from '../../api/fields.ts'
import { type listFields, readPageParameters } from '../../api/listing.ts'
import { requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import {
  type AwsIssuer,
  type IssuerPartition,
  isIssuerId,
  issuerPartitions,
  issuerUrl,
} from '../../identity-proof/aws-issuer.ts'
import type { FetchedKeys } from '../../model/issuer-memory.ts'
import { type Change, removeItem, removeItemUnlessChanged, replaceItem } from '../../storage/changes.ts'
import { type Item, itemPartitions, type Key, key } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'
import { fetchIssuerKeys } from '../login-jwt/fetch-keys.ts'
import { newIssuer, planIssuerOfAccount, withFetchedKeys } from '../login-jwt/issuers.ts'

export const issuerFields = {
  account_id: textField('ID of the AWS account for which the issuer speaks'),
  partition: textField('Partition of the account: aws (default) or aws-cn'),
  blocked: boolField('Refuse logins and renewals by tokens of the issuer'),
}

type IssuerCall = MountCall<typeof issuerFields>

interface PlannedIssuer {
  issuer: AwsIssuer
  place: Key<'issuer'>
  stored: Item<'issuer'> | undefined
  account: string
  /** whether the request names the account, so an administrator trusts the issuer whatever its organization */
  configures: boolean
}

/**
 * The phases of POST config/jwt/issuer/:issuer_id. A write fetches the keys of the issuer first.
 * @see docs/spec/configuration.md#issuers
 */
export const writeIssuerPhases: RequestPhases<IssuerCall, undefined, PlannedIssuer, FetchedKeys> = {
  gather: call => {
    const place = subjectKeyOf(call, 'issuer')
    const stored = subjectOf(call, 'issuer')
    const { account_id: given, partition: named } = call.parameters
    const account = given || stored?.data.account || ''
    const partition = named || stored?.data.partition || 'aws'
    if (!isIssuerId(place.sk)) throw invalidRequestError('the name of an issuer is a UUID in lower case')
    if (!/^\d{12}$/.test(account)) throw invalidRequestError('account_id must be an account ID of 12 digits')
    if (!isPartition(partition)) throw invalidRequestError('partition must be aws or aws-cn')
    if (stored && stored.data.account !== account)
      throw invalidRequestError(`account_id cannot be changed: the issuer speaks for ${stored.data.account}`)
    if (stored && stored.data.partition !== partition)
      throw invalidRequestError('partition cannot be changed')
    return { issuer: { id: place.sk, partition }, place, stored, account, configures: Boolean(given) }
  },
  ask: (call, { issuer }, ask) =>
    ask({
      key: JSON.stringify(['issuer keys', issuer]),
      ask: () => fetchIssuerKeys(call.ports, issuer, call.request.deadline),
    }),
  decide: async (call, { issuer, place, stored, account, configures }, fetched) => {
    const blocked = call.parameters.blocked ?? stored?.data.blocked ?? false
    // an administrator must be able to block an issuer that does not answer
    if (fetched.kind !== 'keys' && !(stored && blocked))
      throw createApiError(
        'invalid_request',
        `the keys of the issuer could not be fetched: ${fetched.kind}`,
        'enable outbound web identity federation in the account, and use the issuer that AWS reports',
        { reason: { why: 'jwt-keys-unreachable', issuer: issuer.id, fault: fetched.kind } },
      )
    const before = stored?.data ?? newIssuer(account, issuer)
    const next = { ...(fetched.kind === 'keys' ? withFetchedKeys(before, fetched) : before), blocked }
    // a block changes neither the trust in a learnt issuer nor which issuer speaks for the account
    if (!configures || fetched.kind !== 'keys') return answerAfterChanges([replaceItem(place, stored, next)])
    const claim = await planIssuerOfAccount(call, issuer.id, account, 'administrator')
    if (claim.kind !== 'free')
      throw invalidRequestError(`the issuer ${claim.by} speaks for the account ${account}: delete it first`)
    const { superseded: _, ...configured } = { ...next, learnt: false }
    return answerAfterChanges([replaceItem(place, stored, configured), ...claim.changes])
  },
}

const isPartition = (name: string): name is IssuerPartition => issuerPartitions.some(one => one === name)

/** Handles GET config/jwt/issuer/:issuer_id. */
export function readIssuer(call: Call): CallOutcome {
  const { sk: id, data } = requireSubject(call, 'issuer')
  const { account, partition, learnt, blocked, superseded = false, keys, fetchedAt, changedAt } = data
  return answer(
    dataAnswer({
      account_id: account,
      partition,
      issuer: issuerUrl({ id, partition }),
      learnt,
      blocked,
      superseded,
      keys: keys.map(({ kid, alg }) => ({ kid, alg })),
      fetched_at: formatTime(fetchedAt),
      changed_at: formatTime(changedAt),
      last_error: data.lastError ?? '',
    }),
  )
}

/** Handles DELETE config/jwt/issuer/:issuer_id. */
export async function deleteIssuer(call: MountCall): Promise<CallOutcome> {
  const stored = subjectOf(call, 'issuer')
  const changes: Change[] = [removeItem(subjectKeyOf(call, 'issuer'))]
  if (stored) {
    const place = key('account-issuer', call.mount.accessor, stored.data.account)
    const [held] = await call.ports.store.read([place])
    // a login may let a newer issuer speak for the account meanwhile
    if (held?.data.issuer === stored.sk) changes.push(removeItemUnlessChanged(held))
  }
  return answerAfterChanges(changes)
}

/** Handles LIST config/jwt/issuers. */
export async function listIssuers(call: MountCall<typeof listFields>): Promise<CallOutcome> {
  const where = itemPartitions('issuer', call.mount.accessor)
  const found = await call.ports.store.list(where, readPageParameters(call.parameters))
  const info = found.map(({ sk, data }) => {
    const { account, learnt, blocked, superseded = false, fetchedAt, lastError = '' } = data
    const keys = { fetched_at: formatTime(fetchedAt), last_error: lastError }
    return [sk, { account_id: account, learnt, blocked, superseded, ...keys }]
  })
  return answer(
    keyListAnswer(
      found.map(item => item.sk),
      Object.fromEntries(info),
    ),
  )
}
