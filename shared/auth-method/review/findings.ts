import { defined } from '../../values/defined.ts'
import type { ReviewedKind, ReviewFacts, ReviewSource, Severity } from './facts.ts'
import { type ReviewRuleName, reviewRuleNames, reviewRuleOf } from './rules.ts'

/** A weakness. `subject` is the path below the mount at which the weakness is configured. */
interface Finding {
  rule: ReviewRuleName
  severity: Severity
  subject: string
  text: string
  fix: string
}

interface RuleVerdict {
  rule: ReviewRuleName
  severity: Severity
  verdict: 'found' | 'clean' | 'not asked'
  /** number of findings, also of those that the response leaves out */
  findings: number
  /** why the rule has not looked at everything; absent: it has */
  why?: string
}

/** Why a source was not looked at as a whole. A source without a gap was. */
export type ReviewGaps = ReadonlyMap<ReviewSource, string>

/** The findings of a review so far. Keeps at most 1,000 findings of a rule. */
export interface ReviewFindings {
  /** Judges a thing by all rules of its kind. */
  judge<K extends ReviewedKind>(about: K, subject: string, facts: ReviewFacts[K]): void
  /** Returns the verdict of each rule, and the findings, worst first. */
  report(gaps: ReviewGaps): { findings: readonly Finding[]; rules: readonly RuleVerdict[] }
}

const MOST_FINDINGS = 1000

export function createReviewFindings(): ReviewFindings {
  const byRule = new Map<ReviewRuleName, { count: number; first: Finding[] }>()
  const judge: ReviewFindings['judge'] = (about, subject, facts) => {
    for (const rule of reviewRuleNames) {
      const row = reviewRuleOf(rule)
      const text = row.about === about ? row.find(facts) : undefined
      if (text === undefined) continue
      const known = byRule.get(rule) ?? { count: 0, first: [] }
      byRule.set(rule, known)
      known.count += 1
      if (known.first.length < MOST_FINDINGS)
        known.first.push({ rule, severity: row.severity, subject, text, fix: row.fix })
    }
  }
  return {
    judge,
    report: gaps => ({
      // the table of rules is sorted by severity
      findings: reviewRuleNames
        .flatMap(rule => (byRule.get(rule)?.first ?? []).toSorted(bySubject))
        .slice(0, MOST_FINDINGS),
      rules: reviewRuleNames.map(rule => verdictOf(rule, byRule.get(rule)?.count ?? 0, gaps)),
    }),
  }
}

const bySubject = (a: Finding, b: Finding): number => (a.subject < b.subject ? -1 : 1)

function verdictOf(rule: ReviewRuleName, findings: number, gaps: ReviewGaps): RuleVerdict {
  const { severity, source } = reviewRuleOf(rule)
  const why = gaps.get(source)
  const verdict = findings > 0 ? 'found' : why === undefined ? 'clean' : 'not asked'
  return defined({ rule, severity, verdict, findings, why } as const)
}
