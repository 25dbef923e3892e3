import type { Page } from '../ports.ts'
import { invalid } from './errors.ts'
import { int, type Supplied, text } from './fields.ts'

/** Paging of listings, which are whole without it. @see docs/spec/transport.md#listings */
export const listFields = {
  after: text('Names greater than this one'),
  limit: int('At most so many names'),
}

const LONGEST_NAME = 1024

export function pageOf(given: Supplied<typeof listFields>): Page {
  if (given.limit !== undefined && given.limit < 0) throw invalid('limit must not be negative')
  if (Buffer.byteLength(given.after ?? '') > LONGEST_NAME) throw invalid('after is longer than any name')
  return {
    ...(given.after ? { after: given.after } : {}),
    ...(given.limit ? { limit: given.limit } : {}),
  }
}
