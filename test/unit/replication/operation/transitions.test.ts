import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../../../shared/api/endpoint.ts'
import { ApiError, errorCodes } from '../../../../shared/api/errors.ts'
import { endpointGroups } from '../../../../shared/endpoints/all.ts'
import { checkClusterRole, checkClusterServes } from '../../../../shared/http/gate.ts'
import type { ClusterRecord } from '../../../../shared/model/cluster.ts'
import {
  findRoleTransitionRefusal,
  type RoleEndpoint,
  type RoleTransitionRequest,
} from '../../../../shared/replication/operation/transitions.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { clusterRecord } from '../../../builders/cluster-record.ts'

const alone = clusterRecord({ mode: 'disabled' })
const own = {
  secondaryId: '',
  primaryAddr: '',
  primaryAddrs: [],
  primaryKey: '',
  ownKey: 'own' as EncryptedText,
}
const primary: ClusterRecord = { ...alone, mode: 'primary', epoch: '000001.0123456789ab', link: own }
const following: ClusterRecord = {
  ...alone,
  mode: 'secondary',
  link: { ...own, secondaryId: 'west', primaryAddr: 'https://a', primaryAddrs: [], primaryKey: 'key' },
}

/** The states in which a cluster may get a call. A running sync is not in the cluster record, and decides nothing. */
const states = {
  'not initialised': undefined,
  disabled: alone,
  primary,
  bootstrapping: { ...alone, mode: 'bootstrapping', operation: 'o' },
  demoted: { ...primary, mode: 'secondary' },
  'without a primary': { ...alone, mode: 'secondary', link: own },
  following,
  rejoined: { ...following, epoch: '000001.0123456789ab' },
} as const satisfies Record<string, ClusterRecord | undefined>
type State = keyof typeof states

/** The roles that accept a call, by the table of endpoints. */
function rowOf(call: RoleEndpoint): Pick<Endpoint, 'serves'> {
  const row = endpointGroups
    .flatMap(({ endpoints }) => endpoints)
    .find(({ path }) => path === `/sys/replication/dr/${call}`)
  if (!row) throw new Error(`nobody serves ${call}`)
  return row
}

/** Returns status and first words of a cluster's answer to a call, gate included; `ok`: the call's own checks decide. */
function said(call: RoleEndpoint, record: ClusterRecord | undefined, change?: RoleTransitionRequest): string {
  const base = record ? { cluster: { record, readAt: 0 } } : {}
  const { serves } = rowOf(call)
  try {
    checkClusterServes(base, serves, { home: '' })
    checkClusterRole(base, serves)
    const refusal = record && findRoleTransitionRefusal(call, record, change)
    if (refusal) throw refusal
    return 'ok'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, always }: { status: number; always?: string } = errorCodes[error.code]
    return `${status} ${(always ?? error.message).split(/[:;]/)[0]}`
  }
}

const OK = 'ok'
const NOBODY = '503 this cluster is not initialised'
const BECOMES = '503 this cluster is becoming a DR secondary and serves no clients'
const CHANGES = '503 another role change of this cluster is under way'
const CLOSED = '400 path disabled'
const NO_PRIMARY = '400 not a DR primary'
const NO_SECONDARY = '400 not a DR secondary'
const IS_PRIMARY = '400 this cluster is a DR primary'
const ALREADY = '400 this cluster is a DR primary already'
const NO_LINK = '400 this cluster has no credentials for a primary, so it cannot use update_primary_addrs'
const READDRESSED = { isNewAddress: true }
const BY_ADDRESSES = { byAddresses: true }

/** The answers to a call by state, in the order of `states`. */
const forPrimaries = [NOBODY, NO_PRIMARY, OK, BECOMES, CLOSED, CLOSED, CLOSED, CLOSED]
const forSecondaries = [NOBODY, NO_SECONDARY, NO_SECONDARY, BECOMES, OK, OK, OK, OK]
const table: [call: RoleEndpoint, change: RoleTransitionRequest, said: string[]][] = [
  ['primary/enable', {}, [NOBODY, OK, ALREADY, BECOMES, CLOSED, CLOSED, CLOSED, CLOSED]],
  ['primary/enable', READDRESSED, [NOBODY, OK, OK, BECOMES, CLOSED, CLOSED, CLOSED, CLOSED]],
  ['primary/demote', {}, [NOBODY, NO_PRIMARY, OK, BECOMES, OK, CLOSED, CLOSED, CLOSED]],
  ['primary/disable', {}, forPrimaries],
  ['primary/secondary-token', {}, forPrimaries],
  ['primary/revoke-secondary', {}, forPrimaries],
  ['secondary/enable', {}, [NOBODY, OK, IS_PRIMARY, BECOMES, CLOSED, CLOSED, CLOSED, CLOSED]],
  ['secondary/generate-public-key', {}, [NOBODY, OK, IS_PRIMARY, BECOMES, OK, OK, OK, OK]],
  ['secondary/promote', {}, forSecondaries],
  ['secondary/disable', {}, forSecondaries],
  ['secondary/update-primary', {}, forSecondaries],
  [
    'secondary/update-primary',
    BY_ADDRESSES,
    [NOBODY, NO_SECONDARY, NO_SECONDARY, BECOMES, NO_LINK, NO_LINK, OK, OK],
  ],
  ['secondary/reindex', {}, forSecondaries],
  ['secondary/merkle-check', {}, forSecondaries],
  ['secondary/operation-token/delete', {}, forSecondaries],
]

describe('operations in each state of a cluster', () => {
  test.each(table)('%s (%j)', (call, change, expected) => {
    const names = Object.keys(states) as State[]
    expect(Object.fromEntries(names.map(name => [name, said(call, states[name], change)]))).toEqual(
      Object.fromEntries(names.map((name, index) => [name, expected[index]])),
    )
  })
})

const anytime: readonly RoleEndpoint[] = [
  'primary/revoke-secondary',
  'secondary/merkle-check',
  'secondary/operation-token/delete',
]

/** Calls that may replace a waiting operation, which each call checks when it begins. */
const takingOver: readonly RoleEndpoint[] = [
  'secondary/promote',
  'secondary/disable',
  'secondary/update-primary',
]

describe('operations during a role change', () => {
  test.each(table)(
    '%s (%j) is refused as busy, unless it changes no role or may replace a waiting operation',
    (call, change, expected) => {
      for (const [index, record] of Object.values<ClusterRecord | undefined>(states).entries()) {
        const answer = said(call, record && { ...record, operation: 'other' }, change)
        const usual = expected[index] ?? ''
        const goes = anytime.includes(call) || takingOver.includes(call)
        expect(answer).toBe(usual === OK && !goes ? CHANGES : usual)
      }
    },
  )
})

describe('each refusal of a transition', () => {
  /** The page that describes the refusals. */
  const documented: Record<string, string> = {
    [NOBODY]: 'not initialised',
    [BECOMES]: 'A cluster in mode `bootstrapping` is wiped to become a secondary',
    [CLOSED]: '400 `path disabled`',
    [CHANGES]: '503: another role change is under way',
    [NO_PRIMARY]: '| a call for primaries, on another cluster | not a DR primary (with the mode) |',
    [NO_SECONDARY]: '| a call for secondaries, on another cluster | not a DR secondary (with the mode) |',
    [IS_PRIMARY]: 'this cluster is a primary',
    [ALREADY]:
      '| `primary/enable` is called on a primary, and names no new address | this cluster is already a primary |',
    [NO_LINK]: 'The secondary has no credentials: use a token',
  }
  const text = readFileSync('docs/spec/replication.md', 'utf8')

  test.each([...new Set([...table.flatMap(([, , answers]) => answers), CHANGES])].filter(one => one !== OK))(
    'the spec page describes the refusal: %s',
    answer => {
      expect(text).toContain(documented[answer] ?? `nothing about: ${answer}`)
    },
  )
})
