import { isObject } from '../../values/json.ts'
import { matchesGlob } from '../../values/pattern.ts'

const PODS = 'pods.eks.amazonaws.com'
const TAGGING = 'sts:tagsession'

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value])

const coversTagging = (actions: unknown): boolean =>
  asList(actions).some(action => typeof action === 'string' && matchesGlob(action.toLowerCase(), TAGGING))

/**
 * Returns a principal other than EKS Pod Identity that a trust policy lets tag sessions; undefined if no other may.
 * Conditions and statements that deny are not judged, so a policy that restricts a principal by them is reported. A
 * principal without conditions is returned first.
 *
 * @param policy JSON of the trust policy of an IAM role
 */
export function findOtherTagger(policy: string): string | undefined {
  const statements = readStatements(policy)
  if (!statements) return 'a principal in a policy that cannot be read'
  const taggers = statements.flatMap(otherTaggersOf)
  return (
    taggers.find(({ isFree }) => isFree)?.name ?? taggers.map(({ name }) => `${name} (under a condition)`)[0]
  )
}

function readStatements(policy: string): unknown[] | undefined {
  try {
    const read: unknown = JSON.parse(policy)
    return isObject(read) ? asList(read['Statement']).filter(one => one !== undefined) : undefined
  } catch {
    return undefined
  }
}

function otherTaggersOf(statement: unknown): { name: string; isFree: boolean }[] {
  if (!isObject(statement) || statement['Effect'] !== 'Allow') return []
  const { Action: actions, NotAction: excepted, Condition: condition } = statement
  const covers = actions === undefined ? !coversTagging(excepted) : coversTagging(actions)
  const isFree = condition === undefined
  return covers ? otherPrincipalsOf(statement['Principal']).map(name => ({ name, isFree })) : []
}

function otherPrincipalsOf(principals: unknown): string[] {
  if (!isObject(principals)) return [typeof principals === 'string' ? principals : 'everyone']
  return Object.entries(principals)
    .flatMap(([kind, values]) => asList(values).map(value => ({ kind, value: String(value) })))
    .filter(({ kind, value }) => kind !== 'Service' || value !== PODS)
    .map(({ value }) => value)
}
