import { describe, expect, test } from 'vitest'
import { readReadiness } from '../../../shared/set/readiness.ts'
import { announceTakeOver } from '../../../shared/set/take-over.ts'
import { west } from '../../builders/pair-seen.ts'

const step = (name: string, does: string) => ({ step: name, does })
const plan = (...steps: object[]) => ({ goes_through: true, refused: '', warnings: [], steps })
const skipping = plan(
  step('verify', 'passes'),
  step('handover', 'this step is skipped: the primary does not answer'),
)
const readiness = (more: object) =>
  readReadiness({ mode: 'secondary', checks: [], promotion: skipping, ...more }).fields
const primaryPeer = {
  connection_status: 'disconnected',
  last_position: 12,
  replication_primary_canary_age_ms: '101000',
}

const statusOf = async (more: object = {}) => {
  const { answer } = await west({ primaries: [primaryPeer], ...more })
  if (!answer) throw new Error('west has answered')
  return answer.status
}

describe('a take-over as the readiness announces it', () => {
  test('a planned switch with a handover loses nothing', async () => {
    const shown = readiness({
      lag: { primary: 'answers' },
      promotion: plan(step('handover', 'closes the primary')),
    })
    expect(announceTakeOver(shown, await statusOf(), { force: false, age_ms: 0 })).toEqual({
      isLossy: false,
      leftOut: [],
      loss: '',
    })
  })

  test('a take-over from a silent primary names the steps that are left out, and the loss in writes and time', async () => {
    const shown = readiness({ lag: { primary: 'silent', last_contact_age_ms: 95_000 } })
    const { isLossy, leftOut, loss } = announceTakeOver(shown, await statusOf(), {
      force: false,
      age_ms: 4000,
    })
    expect({ isLossy, leftOut }).toEqual({
      isLossy: true,
      leftOut: ['handover: the primary does not answer'],
    })
    expect(loss).toBe(
      'This take-over may lose every write that the primary acknowledged in the last 105 s. At least 2 positions are missing; the number of later writes is unknown.',
    )
  })

  test('force names the checks that it overrides', async () => {
    const checks = [
      { name: 'lag', passes: false, text: '9 s behind', overridden_by_force: true },
      { name: 'keyring', passes: false, text: 'KMS is off', overridden_by_force: false },
    ]
    const shown = readiness({
      lag: { primary: 'answers' },
      checks,
      promotion_with_force: plan(step('handover', 'closes the primary')),
    })
    expect(announceTakeOver(shown, await statusOf(), { force: true, age_ms: 0 }).leftOut).toEqual([
      'check lag: 9 s behind',
    ])
  })

  test.each([[{}], [{ lag: { primary: 'odd' } }], [{ lag: 7, promotion: 'yes' }]])(
    'a take-over is lossy unless the readiness says that the primary answers: %j',
    async more => {
      const { isLossy, loss } = announceTakeOver(readiness(more), await statusOf({ primaries: [] }), {
        force: false,
        age_ms: 0,
      })
      expect(isLossy).toBe(true)
      expect(loss).toMatch(/since an unknown time\. No missing write is known by number/)
    },
  )
})
