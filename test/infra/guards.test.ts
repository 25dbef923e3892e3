import { describe, expect, test } from 'vitest'
import { declaredUsesOfFunction } from '../../infra/build/uses.ts'
import { listFunctionNames } from '../../infra/checkout.ts'
import { synthesiseTemplates } from '../../infra/local/template/synth.ts'
import { usesForChange } from '../../shared/adapters/aws/guard.ts'
import type { EndpointUse } from '../../shared/api/endpoint.ts'
import { type Change, createItem, removeItem } from '../../shared/storage/changes.ts'
import { tableGuards } from '../../shared/storage/guards.ts'
import { itemKindSpec, itemKinds, type Key, type Kind } from '../../shared/storage/kinds.ts'
import { evaluate, type IamRequest, ruled } from '../support/iam/evaluate.ts'
import { TEST_PLACE } from '../support/iam/place.ts'
import { policiesIn } from '../support/iam/policies.ts'
import { keyOfKind } from '../support/tables/items.ts'

// Tests for every kind of item that a function's ports and its role's policies allow the same writes.

const { functions, tables } = policiesIn(await synthesiseTemplates({ legacySignatures: false }), TEST_PLACE)
const rules = new Map(Object.entries(functions).map(([name, statements]) => [name, statements.map(ruled)]))

const all = (Object.keys(itemKinds) as Kind[]).map(kind => {
  const { pk, sk } = itemKindSpec(kind)
  return keyOfKind(kind, ...(typeof pk === 'string' ? [] : ['owner']), ...(sk === undefined ? ['name'] : []))
})

const acts = ['stores', 'deletes'] as const
type Act = (typeof acts)[number]

const changeOf = (act: Act, place: Key): Change =>
  act === 'stores' ? createItem(place, {} as never) : removeItem(place)

function requestOf(act: Act, { kind, pk }: Key): IamRequest {
  const { table } = itemKindSpec(kind)
  const [, resource = ''] =
    Object.entries(tables).find(([name]) => name.toLowerCase().split('-').at(-1)?.startsWith(table)) ?? []
  return {
    action: act === 'stores' ? 'dynamodb:PutItem' : 'dynamodb:DeleteItem',
    resource,
    context: { 'dynamodb:LeadingKeys': [pk] },
  }
}

const byGuard = (name: string, act: Act, place: Key): boolean =>
  usesForChange(changeOf(act, place)).some(use => declaredUsesOfFunction(name).includes(use))
const byPolicy = (name: string, act: Act, place: Key): boolean =>
  evaluate(rules.get(name) ?? [], requestOf(act, place)).allowed

/** Writes that policies allow beyond the guard, because policies match partitions only. */
const beyond: Readonly<Record<string, (uses: readonly EndpointUse[], act: Act, kind: Kind) => boolean>> = {
  'the record and the keyring are in one partition': (uses, act, kind) =>
    uses.includes('role') && act === 'stores' && kind === 'keyring',
  'appliers store and delete all items of the other cluster through the journal port': uses =>
    uses.includes('apply'),
}

describe.each(listFunctionNames())('the IAM policies of %s', name => {
  test("allow every write that the function's ports allow", () => {
    const refused = acts.flatMap(act =>
      all
        .filter(place => byGuard(name, act, place) && !byPolicy(name, act, place))
        .map(({ kind }) => `${act} ${kind}`),
    )
    expect(refused).toEqual([])
  })

  test("allow no write beyond the function's ports, except for the listed reasons", () => {
    const uses = declaredUsesOfFunction(name)
    const more = acts.flatMap(act =>
      all
        .filter(place => byPolicy(name, act, place) && !byGuard(name, act, place))
        .filter(({ kind }) => !Object.values(beyond).some(is => is(uses, act, kind)))
        .map(({ kind }) => `${act} ${kind}`),
    )
    expect(more).toEqual([])
  })
})

test.each(all.map(place => [place.kind, place] as const))(
  'some function may store a %s, and some may delete it',
  (kind, place) => {
    const { deletes } = tableGuards[itemKindSpec(kind).guard ?? 'write']
    for (const act of acts) {
      const may = listFunctionNames().some(name => byGuard(name, act, place))
      expect(may, act).toBe(act === 'stores' || deletes.length > 0)
    }
  },
)

test('every listed reason applies to some function', () => {
  const applies = Object.entries(beyond).filter(([, is]) =>
    listFunctionNames().some(name =>
      acts.some(act =>
        all.some(
          place =>
            byPolicy(name, act, place) &&
            !byGuard(name, act, place) &&
            is(declaredUsesOfFunction(name), act, place.kind),
        ),
      ),
    ),
  )
  expect(applies.length).toBe(Object.keys(beyond).length)
})
