import { readShape } from '../values/read-shape.ts'
import { arrayShape, intShape, objectShape, textShape } from '../values/shape.ts'
import { formatCount } from '../values/words.ts'

/** The result of a review of a mount. */
export interface ReviewedMount {
  sentence: string
  tone: 'good' | 'bad'
  /** the first findings, worst first */
  findings: readonly (readonly [severity: string, subject: string, text: string, fix: string])[]
  /** the rules that have not looked at everything, each with the reason */
  gaps: readonly string[]
}

const review = objectShape({
  findings: arrayShape(
    objectShape({ severity: textShape, subject: textShape, text: textShape, fix: textShape }),
  ),
  rules: arrayShape(objectShape({ rule: textShape, findings: intShape }, { why: textShape })),
})

const MOST_SHOWN = 100

/** Reads the `data` of GET auth/:mount/review. */
export function readReviewedMount(mount: string, data: unknown): ReviewedMount {
  const { findings = [], rules = [] } = readShape(review, data).fields
  const count = rules.reduce((sum, one) => sum + (one.findings ?? 0), 0)
  const shown = findings.slice(0, MOST_SHOWN)
  const rest = count > shown.length ? ` The first ${shown.length} are shown.` : ''
  return {
    sentence:
      count === 0
        ? `The review of ${mount} found no weakness.`
        : `The review of ${mount} found ${formatCount(count, 'weakness', 'weaknesses')}.${rest}`,
    tone: count === 0 ? 'good' : 'bad',
    findings: shown.map(({ severity = '', subject = '', text = '', fix = '' }) => [
      severity,
      subject,
      text,
      fix,
    ]),
    gaps: rules.flatMap(({ rule = '', why }) => (why === undefined ? [] : [`${rule}: ${why}`])),
  }
}
