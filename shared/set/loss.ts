import {
  aFlag,
  anInt,
  anyValue,
  aText,
  aTime,
  constOf,
  manyOf,
  mapOf,
  object,
  texts,
  withDescription,
  withTitle,
} from '../values/shape.ts'

const place = { kind: aText, key: texts, what: aText }
const commit = object(
  {
    name: aText,
    position: aText,
    commit: aText,
    time: aTime,
    cut: anInt,
    epoch: aText,
    changes: manyOf(
      object(place, {
        item: withDescription(anyValue, 'the item as this cluster stored it'),
        deleted: constOf(true),
      }),
    ),
  },
  { too_large: constOf(true) },
)

/** Schema of the `data` in the report of commits that a former primary has and its set lacks. */
export const lossShape = withTitle(
  'DivergenceReport',
  object(
    {
      complete: aFlag,
      waits_for: aText,
      lost: manyOf(withTitle('LostCommit', commit)),
      next: withDescription(aText, 'what `after` takes; empty: there is no more'),
      diverging: manyOf(object({ ...place, rounds: anInt, last_found: aTime, given_up: aFlag, name: aText })),
    },
    {
      counts: object(
        { commits: anInt, kinds: mapOf(object({ written: anInt, deleted: anInt })) },
        { more: constOf(true) },
      ),
    },
  ),
)
