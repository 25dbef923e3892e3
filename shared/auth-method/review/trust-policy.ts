import { isObject } from '../../values/json.ts'
import { matchesGlob } from '../../values/pattern.ts'

const PODS = 'pods.eks.amazonaws.com'
const TAGGING = 'sts:tagsession'

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value])

const coversTagging = (actions: unknown): boolean =>
  asList(actions).some(action => typeof action === 'string' && matchesGlob(action.toLowerCase(), TAGGING))

/**
 * Returns a principal other than EKS Pod Identity that a trust policy lets tag sessions; undefined if no other may.
 * Conditions and statements that deny are ignored, so a policy that restricts a principal by them is reported.
 *
 * @param policy JSON of the trust policy of an IAM role
 */
export function findOtherTagger(policy: string): string | undefined {
  const statements = readStatements(policy)
  if (!statements) return 'a principal in a policy that cannot be read'
  return statements.flatMap(otherTaggersOf).at(0)
}

function readStatements(policy: string): unknown[] | undefined {
  try {
    const read: unknown = JSON.parse(policy)
    return isObject(read) ? asList(read['Statement']).filter(one => one !== undefined) : undefined
  } catch {
    return undefined
  }
}

function otherTaggersOf(statement: unknown): string[] {
  if (!isObject(statement) || statement['Effect'] !== 'Allow') return []
  const { Action: actions, NotAction: excepted, Principal: principals } = statement
  const covers = actions === undefined ? !coversTagging(excepted) : coversTagging(actions)
  if (!covers) return []
  if (!isObject(principals)) return [typeof principals === 'string' ? principals : 'everyone']
  return Object.entries(principals)
    .flatMap(([kind, values]) => asList(values).map(value => ({ kind, value: String(value) })))
    .filter(({ kind, value }) => kind !== 'Service' || value !== PODS)
    .map(({ value }) => value)
}
