import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { formatEpoch } from '../../../shared/journal/position.ts'
import { type LinkKeyPairs, linkPublicKeysOf } from '../../../shared/link/pair.ts'
import { claimantRevokedError, lineageRevokedError } from '../../../shared/link/refusals.ts'
import { signMemberStatement } from '../../../shared/link/statements.ts'
import {
  collectTrustedMemberKeys,
  type FenceDecisionFacts,
  findFenceFault,
  type PrimaryClaimant,
} from '../../../shared/link/trust.ts'
import type { MembershipStatement } from '../../../shared/model/link.ts'
import { pair } from '../../builders/link.ts'

const set = 'a set'

/** Makes a cluster with all the link keys that it has had. */
const cluster = () => ({ id: randomUUID(), keys: [pair(), pair(), pair()] as const })
const [a, b, c, d] = [cluster(), cluster(), cluster(), cluster()]
type Cluster = typeof a

const keyText = (own: LinkKeyPairs): string => linkPublicKeysOf(own).signing.toString('base64')
const known = ({ id, keys }: Cluster, at = 0) => ({ id, key: keyText(keys[at] ?? pair()) })

/** @param by cluster and index of the signing key; `of`: cluster and key of the statement */
const says = (
  [by, signs]: [Cluster, number],
  [of, which]: [Cluster, number],
  epoch: string,
  change: Partial<MembershipStatement> = {},
): MembershipStatement => ({
  ...signMemberStatement(by.keys[signs]?.signing ?? pair().signing, {
    set,
    issuer: by.id,
    subject: of.id,
    key: known(of, which).key,
    epoch,
  }),
  ...change,
})

const e1 = formatEpoch(1, a.id)
const e2 = formatEpoch(2, b.id)
const e3 = formatEpoch(3, c.id)

/** Returns the facts of cluster A, which wrote the first epoch, and has admitted B and C. */
const atA = (more: Partial<FenceDecisionFacts> = {}): FenceDecisionFacts => ({
  set,
  ownEpoch: e1,
  lineage: [[e1, 1]],
  revoked: [],
  registered: [known(b), known(c)],
  ...more,
})
const admission = (of: Cluster) => says([a, 0], [of, 0], e1)
const claimOf = (of: Cluster, epoch: string) => says([of, 0], [of, 1], epoch)

/** Returns cluster B as a claimant that was promoted by force. */
const claimantB = (more: Partial<PrimaryClaimant> = {}): PrimaryClaimant => ({
  ...known(b, 1),
  epoch: e2,
  lineage: [
    [e1, 1],
    [e2, 8],
  ],
  chain: [admission(b), claimOf(b, e2)],
  ...more,
})

/** Returns cluster C as a claimant, which joined B after B's promotion, and was promoted by force itself. */
const viaB = (more: Partial<PrimaryClaimant> = {}): PrimaryClaimant => ({
  ...known(c, 2),
  epoch: e3,
  lineage: [
    [e1, 1],
    [e2, 8],
    [e3, 20],
  ],
  chain: [
    admission(b),
    claimOf(b, e2),
    says([b, 1], [c, 1], e2),
    signMemberStatement(c.keys[1].signing, {
      set,
      issuer: c.id,
      subject: c.id,
      key: known(c, 2).key,
      epoch: e3,
    }),
  ],
  ...more,
})

describe('fences that a cluster accepts', () => {
  /** what a cluster knows that A admitted */
  const facts = {
    set,
    ownEpoch: e2,
    lineage: claimantB().lineage,
    registered: [],
    revoked: [],
    issuer: known(a),
  }

  test('a fence by a registered cluster that claimed a later epoch is accepted', () => {
    expect(findFenceFault(atA(), claimantB())).toBeUndefined()
    expect(findFenceFault(atA(), claimantB({ chain: [admission(b)] }))?.message).toContain(
      'no chain of signed statements',
    )
  })

  test('a fence by a cluster that became primary after another primary is accepted', () => {
    expect(findFenceFault(atA(), viaB())).toBeUndefined()
    for (let missing = 1; missing < 4; missing++)
      expect(
        findFenceFault(atA(), viaB({ chain: viaB().chain.filter((_, at) => at !== missing) }))?.message,
        `without statement ${missing}`,
      ).toContain('no chain of signed statements')
  })

  test('a fence by the cluster that admitted the fenced cluster is accepted', () => {
    const later = formatEpoch(4, a.id)
    const again = { ...known(a, 1), epoch: later, lineage: [[later, 9] as const], chain: [claimOf(a, later)] }
    expect(findFenceFault(facts, again)).toBeUndefined()
    expect(findFenceFault({ ...facts, issuer: undefined }, again)?.message).toContain('no chain')
    expect(findFenceFault({ ...facts, revoked: [a.id] }, again)).toEqual(claimantRevokedError(a.id))
  })

  test('a fence is accepted if a cluster known to caller and receiver confirms the caller’s key', () => {
    // B and C were both promoted by force. A, which both know, has acknowledged C.
    const e2c = formatEpoch(2, `${'f'.repeat(8)}-0000-4000-8000-${'f'.repeat(12)}`)
    const own = says([c, 0], [c, 1], e2c)
    const claimant = { ...known(c, 1), epoch: e2c, lineage: [[e1, 1] as const, [e2c, 8] as const] }
    expect(findFenceFault(facts, { ...claimant, chain: [admission(c), own] })?.message).toContain('no chain')
    const voucher = says([a, 0], [c, 1], e2c)
    expect(findFenceFault(facts, { ...claimant, chain: [admission(c), own, voucher] })).toBeUndefined()
  })
})

describe('fences that a cluster rejects', () => {
  test('a fence by a cluster that was revoked here is rejected', () => {
    expect(findFenceFault(atA({ revoked: [b.id], registered: [known(c)] }), claimantB())).toEqual(
      claimantRevokedError(b.id),
    )
    // also refuses the claimant if its key is still registered under another name
    expect(findFenceFault(atA({ revoked: [b.id] }), claimantB())).toEqual(claimantRevokedError(b.id))
  })

  test('a fence with statements by a revoked cluster is rejected, whatever epochs its lineage names', () => {
    const lineage = viaB().lineage.filter(([epoch]) => epoch !== e2)
    const facts = atA({ revoked: [b.id] })
    expect(findFenceFault(facts, viaB({ lineage }))?.message).toContain('no chain of signed statements')
    const admitted = says([b, 1], [d, 0], e2)
    const claim = claimOf(d, formatEpoch(4, d.id))
    const claimant = {
      ...known(d, 1),
      epoch: formatEpoch(4, d.id),
      lineage: [[formatEpoch(4, d.id), 9] as const],
    }
    const chain = [admission(b), claimOf(b, e2), admitted, claim]
    expect(findFenceFault(facts, { ...claimant, chain })?.message).toContain('no chain of signed statements')
    expect(findFenceFault(atA(), { ...claimant, chain })).toBeUndefined()
  })

  test('a fence is rejected if an unknown epoch of its lineage belongs to a revoked cluster', () => {
    // cluster C itself is registered, and has entries of the revoked cluster
    const chain = [admission(c), says([c, 0], [c, 2], e3)]
    expect(findFenceFault(atA(), viaB({ chain }))).toBeUndefined()
    expect(findFenceFault(atA({ revoked: [b.id] }), viaB({ chain }))).toEqual(lineageRevokedError(e2))
    // epochs that both clusters had before the revocation do not matter
    const known2 = atA({ revoked: [b.id], lineage: claimantB().lineage, ownEpoch: formatEpoch(2, a.id) })
    expect(findFenceFault(known2, viaB({ chain }))).toBeUndefined()
  })

  test('a fence with statements before the fenced cluster’s own epoch is rejected, except about the issuer’s next key', () => {
    const later = formatEpoch(3, a.id)
    const facts = atA({ ownEpoch: later, lineage: [[later, 30]] })
    const e4 = formatEpoch(4, c.id)
    const claim = signMemberStatement(c.keys[1].signing, {
      set,
      issuer: c.id,
      subject: c.id,
      key: known(c, 2).key,
      epoch: e4,
    })
    const by = (epoch: string) => [admission(b), claimOf(b, e2), says([b, 1], [c, 1], epoch), claim]
    const claimant = (epoch: string) => viaB({ epoch: e4, lineage: [[e4, 40]], chain: by(epoch) })
    expect(findFenceFault(facts, claimant(e2))?.message).toContain('no chain of signed statements')
    expect(
      findFenceFault(facts, claimant(formatEpoch(3, `${a.id.slice(0, -12)}ffffffffffff`))),
    ).toBeUndefined()
  })

  test.each<[what: string, change: Partial<MembershipStatement>]>([
    ['of another set', { set: 'another set' }],
    ['of another cluster', { subject: randomUUID() }],
    ['by another cluster', { issuer: randomUUID() }],
    ['of another key', { key: known(d).key }],
    ['of another epoch', { epoch: e3 }],
    ['with another signature', { signature: admission(c).signature }],
    ['with none', { signature: '' }],
  ])('a fence with a statement %s is rejected', (_, change) => {
    const chain = [{ ...claimOf(b, e2), ...change }]
    expect(findFenceFault(atA(), claimantB({ chain }))?.message).toContain('no chain of signed statements')
  })

  test('a fence with the key of another member, or with a key of another length, is rejected', () => {
    expect(findFenceFault(atA(), claimantB({ key: known(c).key }))?.message).toContain('no chain')
    const short = atA({ registered: [{ id: b.id, key: 'AAAA' }] })
    expect(findFenceFault(short, claimantB())?.message).toContain('no chain')
  })
})

test('collectTrustedMemberKeys follows statements of any epoch', () => {
  const keys = collectTrustedMemberKeys(set, [known(a)], [admission(b), claimOf(b, e2), claimOf(d, e3)])
  expect(keys).toEqual([known(a), known(b), known(b, 1)])
})
