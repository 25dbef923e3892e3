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
  type ValueOf,
  withDescription,
  withTitle,
} from '../values/shape.ts'

// `what`: description for operators; never contains a secret
const place = { kind: textShape, key: textArrayShape, what: textShape }
const commit = objectShape(
  {
    // report part and index of the journal entry: the value for `after`
    name: textShape,
    // position in this cluster's journal
    position: textShape,
    commit: textShape,
    time: timeShape,
    // last position that this cluster's journal had in common with the set's, and the set's epoch at that time
    cut: intShape,
    epoch: textShape,
    changes: arrayShape(
      objectShape(place, {
        // encrypted fields stay encrypted; absent: the item was deleted, or omitted because it was too large
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
      next: withDescription(textShape, 'the next value of `after`; empty on the last page'),
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
        // not all commits were counted
        { more: constShape(true) },
      ),
    },
  ),
)

/** The `data` of that report. */
export type LossAnswer = ValueOf<typeof lossReportShape>
