import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../../api/call.ts'
import { boolField } from '../../api/fields.ts'
import { subjectKeyOf, subjectOf } from '../../api/subject.ts'
import { replaceItem } from '../../storage/changes.ts'
import { defined } from '../../values/defined.ts'
import { formatTime } from '../../values/time.ts'
import { defaultIdentityConfig } from '../login/metadata.ts'

export const reviewConfigFields = {
  track_use: boolField('Store the day of the last login of each role, so that the review finds unused roles'),
}

/**
 * Handles POST config/review. The setting is stored with the identity configuration, because every login reads that item.
 * @see docs/spec/review.md#unused-roles
 */
export function writeReviewConfig(call: Call<typeof reviewConfigFields>): CallOutcome {
  const stored = subjectOf(call, 'identity-config')
  const { usesTrackedSince: before, ...identity } = stored?.data ?? defaultIdentityConfig
  const tracks = call.parameters.track_use ?? before !== undefined
  const usesTrackedSince = tracks ? (before ?? call.now) : undefined
  return answerAfterChanges([
    replaceItem(subjectKeyOf(call, 'identity-config'), stored, defined({ ...identity, usesTrackedSince })),
  ])
}

/** Handles GET config/review. Returns the default if nothing is configured. */
export function readReviewConfig(call: Call): CallOutcome {
  const since = subjectOf(call, 'identity-config')?.data.usesTrackedSince
  return answer(
    dataAnswer(
      defined({
        track_use: since !== undefined,
        tracked_since: since === undefined ? undefined : formatTime(since),
      }),
    ),
  )
}
