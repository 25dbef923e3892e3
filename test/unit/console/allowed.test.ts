import { describe, expect, test } from 'vitest'
import {
  checkPromotionButton,
  isNameConfirmed,
  READINESS_VALID_MS,
  type ShownReadiness,
  toShownReadiness,
} from '../../../shared/console/allowed.ts'
import { seenAs, silent } from '../../builders/cluster-seen.ts'

const NOW = 1_750_000_000_000
const own = await seenAs('west', { mode: 'secondary', state: 'stream-wals', primaries: [{}] })
const busy = await seenAs('west', { mode: 'secondary', operation: { id: '1', name: 'update-primary' } })
const peer = await seenAs('east', { mode: 'primary', state: 'running' })
const gone = silent(peer)
const plan = (refused = '') => ({
  goes_through: refused === '',
  refused,
  warnings: [],
  steps: [{ step: 'verify', does: 'passes' }],
})
const ready = (
  normal = '',
  forced = '',
  presented: object = { counts: true, why: '', seconds_left: 60 },
  lag = 'answers',
): ShownReadiness =>
  toShownReadiness(
    {
      mode: 'secondary',
      ready: normal === '',
      checks: [{ name: 'lag', passes: normal === '', text: normal, overridden_by_force: normal !== '' }],
      promotion: plan(normal),
      promotion_with_force: plan(forced),
      operation_token: { presented, generated: null },
      lag: { primary: lag },
    },
    NOW - 1000,
  )
const asked = {
  own,
  peer,
  readiness: ready(),
  hasOperationToken: true,
  typed: 'west',
  force: false,
  acceptsLoss: false,
  now: NOW,
}
const silentPrimary = ready('', '', undefined, 'silent')
const disaster = {
  ...asked,
  peer: gone,
  readiness: ready('the primary is silent', '', undefined, 'silent'),
  force: true,
  acceptsLoss: true,
}

describe('the promotion button', () => {
  test('the button is enabled once all fields are filled; with force only if no other action helps', () => {
    expect(checkPromotionButton(asked)).toEqual({ allowed: true, why: '' })
    expect(checkPromotionButton(disaster)).toEqual({ allowed: true, why: '' })
    expect(checkPromotionButton({ ...disaster, peer: undefined }).allowed).toBe(true)
  })

  test('a take-over after a minute of silence is allowed with and without force, once the loss is accepted', () => {
    const lossy = { ...disaster, readiness: silentPrimary }
    expect(checkPromotionButton({ ...lossy, force: false })).toEqual({ allowed: true, why: '' })
    expect(checkPromotionButton(lossy)).toEqual({ allowed: true, why: '' })
    for (const force of [false, true])
      expect(checkPromotionButton({ ...lossy, force, acceptsLoss: false }).why).toBe(
        'Accept the possible loss first.',
      )
    expect(checkPromotionButton({ ...lossy, force: false, peer }).why).toMatch(/two primaries/)
  })

  test.each<[string, Partial<Parameters<typeof checkPromotionButton>[0]>, RegExp]>([
    ['this cluster is silent', { own: silent(own) }, /does not answer/],
    ['this cluster is the primary', { own: peer }, /is not a secondary/],
    ['an operation is running', { own: busy }, /update-primary is running/],
    ['the operation token is missing', { hasOperationToken: false }, /Enter a DR operation token/],
    ['readiness was not requested', { readiness: undefined }, /Request the readiness first/],
    [
      'the readiness response comes from a primary',
      { readiness: { ...ready(), fields: { ...ready().fields, mode: 'primary' } } },
      /Request the readiness first/,
    ],
    [
      'the readiness response is too old',
      { readiness: { ...ready(), at: NOW - READINESS_VALID_MS - 1 } },
      /60 s old\. Request it again/,
    ],
    [
      'the operation token allows no promotion',
      { readiness: ready('', '', { counts: false, why: 'it is a root token' }) },
      /it is a root token/,
    ],
    [
      'the cluster would refuse the promotion',
      { readiness: ready('9 s behind') },
      /refuse the promotion: 9 s behind/,
    ],
    [
      'the cluster would refuse the promotion even with force',
      { readiness: ready('no sync', 'no sync'), force: true },
      /refuse the promotion: no sync/,
    ],
    ['force is not needed', { force: true }, /Force is not needed/],
    [
      'the other cluster serves',
      { readiness: ready('cut off'), force: true },
      /two primaries are worse than none/,
    ],
    ['the cluster name was not typed', { typed: '' }, /Type the name of this cluster, west/],
    ['the typed name is not the cluster name', { typed: 'West' }, /Type the name/],
  ])('the button is disabled if %s', (_, change, why) => {
    expect(checkPromotionButton({ ...asked, ...change })).toEqual({
      allowed: false,
      why: expect.stringMatching(why),
    })
  })

  test('the button is disabled for a cluster without a name, even if the name field is empty', () => {
    expect(isNameConfirmed('', '')).toBe(false)
  })

  test('the button is disabled if the readiness response is malformed', () => {
    for (const odd of [undefined, null, [], 'ready', { mode: 'secondary', promotion: 'yes' }])
      expect(checkPromotionButton({ ...asked, readiness: toShownReadiness(odd, NOW) }).allowed).toBe(false)
  })
})
