import {
  anyShape,
  arrayShape,
  constShape,
  flagShape,
  intShape,
  mapShape,
  objectShape,
  textArrayShape,
  textShape,
  timeShape,
  withDescription,
  withTitle,
} from '../values/shape.ts'

const place = { kind: textShape, key: textArrayShape, what: textShape }
const commit = objectShape(
  {
    name: textShape,
    position: textShape,
    commit: textShape,
    time: timeShape,
    cut: intShape,
    epoch: textShape,
    changes: arrayShape(
      objectShape(place, {
        item: withDescription(anyShape, 'the item as this cluster stored it'),
        deleted: constShape(true),
      }),
    ),
  },
  { too_large: constShape(true) },
)

/** Schema of the `data` in the report of commits that a former primary has and its set lacks. */
export const lossReportShape = withTitle(
  'DivergenceReport',
  objectShape(
    {
      complete: flagShape,
      waits_for: textShape,
      lost: arrayShape(withTitle('LostCommit', commit)),
      next: withDescription(textShape, 'what `after` takes; empty: there is no more'),
      diverging: arrayShape(
        objectShape({
          ...place,
          rounds: intShape,
          last_found: timeShape,
          given_up: flagShape,
          name: textShape,
        }),
      ),
    },
    {
      counts: objectShape(
        { commits: intShape, kinds: mapShape(objectShape({ written: intShape, deleted: intShape })) },
        { more: constShape(true) },
      ),
    },
  ),
)
