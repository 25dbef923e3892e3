import {
  flagShape,
  intShape,
  type JsonSchema,
  mapShape,
  textArrayShape,
  textShape,
} from '../../values/shape.ts'

/** Returns the shape of values like this value, which is the neutral value of a setting. */
export function shapeOfValue(value: unknown): JsonSchema {
  if (Array.isArray(value)) return textArrayShape
  if (typeof value === 'boolean') return flagShape
  if (typeof value === 'number') return intShape
  return typeof value === 'string' ? textShape : mapShape(textArrayShape)
}

/** The successful response of an operation, in addition to its row. */
export interface AnswerDescription {
  /** operation ID, from which generated clients take their method names */
  id: string
  /** rows that return `data`: the shape of the data; `keys`: the info of each name; `plain`: the whole body */
  shape?: JsonSchema
  /** example of a request body */
  requestExample?: Readonly<Record<string, unknown>>
  /** true if 204 is a response too, because nothing was found */
  mayBeEmpty?: true
  /** `wrapped`: true if the response is wrapped: always, or unless the client asks otherwise */
  wrapped?: 'always' | 'usually'
  /** the body, if it differs from what the row declares */
  body?: JsonSchema
}

/** The responses of operations, by method and path of their rows. */
export type AnswerDescriptions = Readonly<Record<string, AnswerDescription>>

export const describeAnswer = (
  id: string,
  shape?: JsonSchema,
  more: Omit<AnswerDescription, 'id' | 'shape'> = {},
): AnswerDescription => ({
  id,
  ...(shape ? { shape } : {}),
  ...more,
})
