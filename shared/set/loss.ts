import {
  aFlag,
  always,
  anInt,
  anyValue,
  aText,
  aTime,
  manyOf,
  mapOf,
  object,
  saying,
  texts,
  titled,
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
    changes: manyOf(object(place, { item: saying(anyValue, 'as it was stored'), deleted: always(true) })),
  },
  { too_large: always(true) },
)

/** Schema of the `data` in the report of commits that a former primary has and its set lacks. */
export const lossShape = titled(
  'DivergenceReport',
  object(
    {
      complete: aFlag,
      waits_for: aText,
      lost: manyOf(titled('LostCommit', commit)),
      next: saying(aText, 'what `after` takes; empty: there is no more'),
      diverging: manyOf(object({ ...place, rounds: anInt, last_found: aTime, given_up: aFlag, name: aText })),
    },
    {
      counts: object(
        { commits: anInt, kinds: mapOf(object({ written: anInt, deleted: anInt })) },
        { more: always(true) },
      ),
    },
  ),
)
