import { aFlag, anInt, aText, mapOf, type Schema, texts } from '../../values/shape.ts'

/** Returns the shape of values like this one, which is the neutral value of a setting. */
export function shapeLike(value: unknown): Schema {
  if (Array.isArray(value)) return texts
  if (typeof value === 'boolean') return aFlag
  if (typeof value === 'number') return anInt
  return typeof value === 'string' ? aText : mapOf(texts)
}

/** The successful response of an operation, in addition to its row. */
export interface AnswerDescription {
  /** operation ID, from which generated clients take their method names */
  id: string
  /** rows that return `data`: the shape of the data; `keys`: the info of each name; `plain`: the whole body */
  shape?: Schema
  /** example of a request body */
  requestExample?: Readonly<Record<string, unknown>>
  /** true if 204 is a response too, because nothing was found */
  mayBeEmpty?: true
  /** true if the response is wrapped: always, or unless the client asks otherwise */
  wrapped?: 'always' | 'usually'
  /** the body, if it differs from what the row declares */
  body?: Schema
}

/** The responses of operations, by method and path of their rows. */
export type Answers = Readonly<Record<string, AnswerDescription>>

export const describeAnswer = (
  id: string,
  shape?: Schema,
  more: Omit<AnswerDescription, 'id' | 'shape'> = {},
): AnswerDescription => ({
  id,
  ...(shape ? { shape } : {}),
  ...more,
})
