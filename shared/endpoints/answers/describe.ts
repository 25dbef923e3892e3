import { aFlag, anInt, aText, mapOf, type Schema, texts } from '../../values/shape.ts'

/** The shape of a value that stands for all others of its kind: what a table of fields keeps where nothing was said. */
export function shapeLike(value: unknown): Schema {
  if (Array.isArray(value)) return texts
  if (typeof value === 'boolean') return aFlag
  if (typeof value === 'number') return anInt
  return typeof value === 'string' ? aText : mapOf(texts)
}

/** What an operation answers where it succeeds, beside what its row says. */
export interface AnswerDescription {
  /** the name of the operation, which generated clients call it by */
  id: string
  /** of rows that answer `data`: the data. `keys`: what stands beside each name. `plain`: the whole body */
  shape?: Schema
  /** the example of a request: a body that its fields take */
  requestExample?: Readonly<Record<string, unknown>>
  /** 204 is an answer, too: nothing was found */
  mayBeEmpty?: true
  /** the answer is wrapped, always or where nothing else was asked for */
  wrapped?: 'always' | 'usually'
  /** the body, where it is not what the row says */
  body?: Schema
}

/** What operations answer, by method and path of their rows. */
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
