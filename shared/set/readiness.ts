import { readShape, type ShapeRead } from '../values/read-shape.ts'
import {
  aFlag,
  anInt,
  aText,
  aTime,
  manyOf,
  object,
  orNull,
  texts,
  timeOrEmpty,
  type ValueOf,
  withTitle,
} from '../values/shape.ts'

const check = object({ name: aText, passes: aFlag, text: aText, overridden_by_force: aFlag })
export const checksShape = manyOf(withTitle('ReadinessCheck', check))
export const stepsShape = manyOf(object({ step: aText, does: aText }))
export const planShape = withTitle(
  'PromotionPlan',
  object({ goes_through: aFlag, refused: aText, warnings: texts, steps: stepsShape }),
)
export const operationTokenShape = withTitle(
  'PreparedOperationToken',
  object({
    generated: orNull(object({ made: aTime, age_seconds: anInt })),
    presented: object({ counts: aFlag, why: aText, expires: timeOrEmpty, seconds_left: anInt }),
    roles: texts,
    policies: texts,
  }),
)
export const readyLicenseShape = object({ ends: timeOrEmpty, seconds_left: anInt, text: aText })

/** The fields of a readiness answer that programs and the console page read, for any mode. */
const readinessShape = object(
  { mode: aText, checks: checksShape, operation_token: operationTokenShape, license: readyLicenseShape },
  { lag: object({ primary: aText }), ready: aFlag, promotion: planShape, promotion_with_force: planShape },
)
/** Reads the `data` of a readiness answer. `odd` names missing and malformed fields; unknown fields are ignored. */
export function readReadiness(data: unknown): ShapeRead<ValueOf<typeof readinessShape>> {
  const { fields, odd } = readShape(readinessShape, data)
  return { fields, odd: odd.filter(text => !text.endsWith('unknown')) }
}

/** Seconds that a licence must still last, because a former primary needs a token from its licensed successor. */
const LICENCE_S = 86_400

/**
 * Returns why a cluster is not ready for a planned switch. Empty: it is ready.
 * @param data of its readiness answer
 */
export function findReadinessFault(cluster: string, data: unknown): string {
  const { fields, odd } = readReadiness(data)
  const { checks = [], lag, license, operation_token: token } = fields
  const oddity = odd.find(text => text.endsWith('odd') || text === 'checks is missing')
  if (oddity !== undefined) return `${cluster}: the readiness answer is malformed: ${oddity}`
  if (!token?.presented.counts)
    return `${cluster}: the operation token is not sufficient: ${token?.presented.why || 'the answer gives no reason'}`
  // ignores the check `secondaries`: the primary may know an outdated state of its secondary, whose own readiness is
  // checked
  const faults = checks.filter(({ name, passes }) => !passes && name !== 'secondaries')
  if (faults.length > 0) return `${cluster}: ${faults.map(({ text }) => text).join('; ')}`
  if ((license?.seconds_left ?? 0) < LICENCE_S)
    return `${cluster}: the licence ends within a day; without it no cluster can rejoin`
  return lag === undefined || lag.primary === 'answers'
    ? ''
    : `${cluster}: it has no contact to its primary, which therefore cannot hand over`
}
