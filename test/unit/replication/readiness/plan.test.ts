import { describe, expect, test } from 'vitest'
import { createFirstHead } from '../../../../shared/journal/head.ts'
import {
  decidePromotion,
  type PromotionFacts,
  runPromotionChecks,
} from '../../../../shared/replication/promotion/decide.ts'
import { promotionSteps } from '../../../../shared/replication/promotion/step.ts'
import { type PromotionPlanInput, planPromotion } from '../../../../shared/replication/readiness/plan.ts'

const NOW = Date.UTC(2026, 10, 22, 12)
const EPOCH = '000001.aaaaaaaaaaaa'
const ID = '11111111-2222-3333-4444-bbbbbbbbbbbb'
const head = { ...createFirstHead(EPOCH, 1), mode: 'applying', own: '', last: 100, applied: 98 } as const
const reported = { epoch: EPOCH, seq: 107, frontier: 105, skew: 0 }

/** Values of each fact on which a promotion depends. The test tries all combinations. */
const values: {
  readonly [K in keyof PromotionPlanInput['facts']]: readonly PromotionPlanInput['facts'][K][]
} = {
  head: [
    undefined,
    head,
    { ...head, lineage: [] },
    { ...head, mode: 'syncing', unfinishedSync: 'all' },
    { ...head, mode: 'closed' },
    { ...head, replayUntil: 130 },
  ],
  primary: [
    { state: 'none' },
    { state: 'answers', format: 1, lag: 0, reported },
    { state: 'answers', format: 0, lag: 5001, reported },
    { state: 'answers', format: 1, lag: 'diverged', reported },
    { state: 'refuses', text: 'west was revoked' },
    { state: 'silent', silentMs: 0 },
    { state: 'silent', lastAnswerAt: NOW - 59_999, silentMs: 59_999 },
    { state: 'silent', lastAnswerAt: NOW - 60_000, silentMs: 60_000 },
  ],
  keyring: [
    { opened: 3, failed: [] },
    { opened: 1, failed: ['hmacKey of a role, of term 1'] },
    { opened: 0, failed: ['ownKey of a cluster, of term 2'] },
  ],
  corrupted: [false, true],
  reindexing: [false, true],
  copied: [false, true],
  stuck: [undefined, 'policy p'],
  format: [1],
  now: [NOW],
}

const all = Object.entries(values).reduce<Record<string, unknown>[]>(
  (made, [name, some]) => made.flatMap(one => some.map(value => ({ ...one, [name]: value }))),
  [{}],
) as unknown as PromotionPlanInput['facts'][]

const planned = (facts: PromotionPlanInput['facts'], force: boolean) =>
  planPromotion({ facts, record: { id: ID } }, { force })

test('readiness and promotion agree on result, texts, warnings and checks for all facts', () => {
  expect(all.length).toBeGreaterThan(1000)
  for (const facts of all)
    for (const force of [false, true]) {
      const { refused, warnings } = decidePromotion(facts as PromotionFacts, { force })
      const plan = planned(facts, force)
      expect(plan).toMatchObject({ goes_through: !refused, refused: refused?.text ?? '', warnings })
      expect(plan.steps.map(({ step }) => step)).toEqual(refused ? ['verify'] : promotionSteps)
      const inTheWay = runPromotionChecks(facts).filter(
        ({ text, overridden }) => text !== undefined && !(force && overridden),
      )
      expect(inTheWay.length > 0).toBe(refused !== undefined)
      for (const { text } of inTheWay) expect(refused?.text).toContain(text)
    }
})

describe('the steps of a planned promotion', () => {
  const fine: PromotionPlanInput['facts'] = {
    head,
    keyring: { opened: 1, failed: [] },
    format: 1,
    now: NOW,
    corrupted: false,
    reindexing: false,
    copied: false,
    primary: { state: 'answers', format: 1, lag: 0, reported },
  }
  const does = (facts: Partial<PromotionPlanInput['facts']>, force = false) =>
    Object.fromEntries(
      planned({ ...fine, ...facts }, force).steps.map(({ step, does: text }) => [step, text]),
    )

  test("a promotion with an answering primary includes the primary's handover, and loses nothing", () => {
    expect(does({})).toMatchObject({
      handover: expect.stringContaining(`end its epoch ${EPOCH}`),
      drain: expect.stringMatching(/7 positions by now.*applies 2 received positions/),
      claim: expect.stringMatching(
        /epoch 000002\.bbbbbbbbbbbb, which begins after the end.*generation of the new primary is 1/,
      ),
      serve: expect.not.stringContaining('earlier epochs'),
    })
  })

  test('a promotion with a primary that was silent for a minute begins at this cluster’s position', () => {
    expect(
      does({ primary: { state: 'silent', lastAnswerAt: NOW - 60_000, silentMs: 60_000 } }),
    ).toMatchObject({
      handover: expect.stringMatching(/skipped: the primary does not answer/),
      claim: expect.stringContaining('which begins after position 100'),
      serve: expect.stringContaining('end earlier epochs'),
    })
  })

  test('a forced promotion during a sync skips the handover, although the primary answers', () => {
    expect(does({ head: { ...head, mode: 'syncing', unfinishedSync: 'all' } }, true)).toMatchObject({
      handover: expect.stringMatching(/skipped: a sync is running \(syncing\)/),
    })
  })
})
