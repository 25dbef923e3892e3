import { readShape, type ShapeRead } from '../values/read-shape.ts'
import {
  arrayShape,
  flagShape,
  intShape,
  nullableShape,
  objectShape,
  textArrayShape,
  textShape,
  timeOrEmptyShape,
  timeShape,
  type ValueOf,
  withTitle,
} from '../values/shape.ts'

const check = objectShape({
  name: textShape,
  passes: flagShape,
  text: textShape,
  overridden_by_force: flagShape,
})
export const readinessChecksShape = arrayShape(withTitle('ReadinessCheck', check))
export const promotionStepsShape = arrayShape(objectShape({ step: textShape, does: textShape }))
export const promotionPlanShape = withTitle(
  'PromotionPlan',
  objectShape({
    goes_through: flagShape,
    refused: textShape,
    warnings: textArrayShape,
    steps: promotionStepsShape,
  }),
)
/** `refused` is empty if the promotion would succeed; `steps` end with the step that would refuse. */
export type PromotionPlan = ValueOf<typeof promotionPlanShape>
export const operationTokenShape = withTitle(
  'PreparedOperationToken',
  objectShape({
    generated: nullableShape(objectShape({ made: timeShape, age_seconds: intShape })),
    presented: objectShape({
      counts: flagShape,
      why: textShape,
      expires: timeOrEmptyShape,
      seconds_left: intShape,
    }),
    roles: textArrayShape,
    policies: textArrayShape,
  }),
)
/**
 * Tokens that could authorise a promotion, as far as they are known: batch tokens are not stored.
 * `generated`: the token that the answering cluster made from recovery shares. `presented`: the token of the request.
 * `roles`: token roles that make such batch tokens, by `policies` that allow a promotion.
 */
export type PromotionPreparation = ValueOf<typeof operationTokenShape>
/** Ages of the newest journal entry on a secondary at its heartbeats of the last ten minutes, oldest first. */
export const lagHistoryShape = arrayShape(objectShape({ time: timeShape, age_ms: intShape }))
export const readinessLicenseShape = objectShape({
  ends: timeOrEmptyShape,
  seconds_left: intShape,
  text: textShape,
})

/** The fields of a readiness answer that programs and the console page read, for any mode. */
const readinessShape = objectShape(
  {
    mode: textShape,
    checks: readinessChecksShape,
    operation_token: operationTokenShape,
    license: readinessLicenseShape,
  },
  {
    lag: objectShape({ primary: textShape }, { last_contact_age_ms: intShape, history: lagHistoryShape }),
    ready: flagShape,
    promotion: promotionPlanShape,
    promotion_with_force: promotionPlanShape,
    region: objectShape({ own: textShape }),
  },
)
export type ReadReadiness = ReturnType<typeof readReadiness>['fields']
/** Reads the `data` of a readiness answer. `odd` names missing and malformed fields; unknown fields are ignored. */
export function readReadiness(data: unknown): ShapeRead<ValueOf<typeof readinessShape>> {
  const { fields, odd } = readShape(readinessShape, data)
  return { fields, odd: odd.filter(text => !text.endsWith('unknown')) }
}

/**
 * Seconds for which a licence must still be valid, because a former primary needs a token from its licensed
 * successor.
 */
const LICENCE_S = 86_400

/**
 * Returns why a cluster is not ready for a planned switch. An empty list means that the cluster is ready.
 * @param data `data` of the cluster's readiness answer
 */
export function findReadinessFault(cluster: string, data: unknown): string {
  const { fields, odd } = readReadiness(data)
  const { checks = [], lag, license, operation_token: token } = fields
  const oddity = odd.find(text => text.endsWith('odd') || text === 'checks is missing')
  if (oddity !== undefined) return `${cluster}: the readiness answer is malformed: ${oddity}`
  if (!token?.presented.counts)
    return `${cluster}: the operation token is not sufficient: ${token?.presented.why || 'the answer gives no reason'}`
  // the check `secondaries` is ignored: the primary may know an outdated state of its secondary, whose own
  // readiness is checked
  const faults = checks.filter(({ name, passes }) => !passes && name !== 'secondaries')
  if (faults.length > 0) return `${cluster}: ${faults.map(({ text }) => text).join('; ')}`
  if ((license?.seconds_left ?? 0) < LICENCE_S)
    return `${cluster}: the licence ends within a day; without it no cluster can rejoin`
  return lag === undefined || lag.primary === 'answers'
    ? ''
    : `${cluster}: it has no contact to its primary, which therefore cannot hand over`
}
