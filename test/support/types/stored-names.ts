import { type Checker, type Type, TypeFlags } from 'typescript/unstable/sync'
import { root, withProject } from './project.ts'

const PROBE = 'test/support/types/probe.ts'
const TEXT = `
import type { JournalHead } from '../../../shared/journal/head.ts'
import type { StoredItem } from '../../../shared/storage/requests.ts'
import type { StoredDataByKind } from '../../../shared/storage/stored.ts'
declare const stored: StoredDataByKind & { 'journal head': JournalHead; 'every item': StoredItem }
export { stored }
`

/**
 * Returns the names of attributes by kind of item, `a.b` for an attribute inside another, `*` for any key.
 * The names come from the type declarations of the stored items.
 */
export const namesOfStored = (): Record<string, string[]> =>
  withProject(
    ({ checker }) => {
      const stored = checker.getTypeAtPosition(`${root}${PROBE}`, TEXT.indexOf('stored: '))
      if (!stored) throw new Error('the compiler knows no type of what is stored')
      return Object.fromEntries(
        checker.getPropertiesOfType(stored).map(kind => {
          const type = checker.getTypeOfSymbol(kind)
          return [kind.name, type ? [...new Set(namesIn(checker, type, ''))].toSorted() : []]
        }),
      )
    },
    { [PROBE]: TEXT },
  )

/**
 * Returns the names of a type's attributes, including attributes of list elements and of all members of a
 * union.
 */
function namesIn(checker: Checker, type: Type, before: string): string[] {
  if (type.isUnionType()) return type.getTypes().flatMap(one => namesIn(checker, one, before))
  // a text with a brand is a text
  if (type.isIntersectionType() && type.getTypes().some(({ flags }) => flags & TypeFlags.String)) return []
  if (!(type.flags & (TypeFlags.Object | TypeFlags.Intersection))) return []
  if (checker.isArrayLikeType(type))
    return checker.getTypeArguments(type as never).flatMap(one => namesIn(checker, one, before))
  const named = checker.getPropertiesOfType(type).flatMap(one => {
    const name = `${before}${one.name}`
    const inside = checker.getTypeOfSymbol(one)
    return [name, ...(inside ? namesIn(checker, inside, `${name}.`) : [])]
  })
  const keyed = checker
    .getIndexInfosOfType(type)
    .flatMap(({ valueType }) => namesIn(checker, valueType, `${before}*.`))
  return [...named, ...keyed]
}
