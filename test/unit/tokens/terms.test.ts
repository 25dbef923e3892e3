import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readFields } from '../../../shared/api/fields.ts'
import {
  defaultParameters,
  mergeParameters,
  showParameters,
  tokenFields,
} from '../../../shared/tokens/parameters.ts'
import { type TermOwner, type TokenParameters, termRows } from '../../../shared/tokens/terms.ts'
import { requestsOf } from '../../builders/token-terms.ts'

const DAY = 86_400

/** What a request leaves behind; undefined for one whose parts do not go together. */
function write(taker: TermOwner, stored: TokenParameters, body: Record<string, unknown>) {
  try {
    return mergeParameters(stored, readFields(tokenFields(taker), body).parameters, DAY)
  } catch {
    return undefined
  }
}

describe.each<TermOwner>(['role', 'token-role'])('every term of a %s', taker => {
  const requests = requestsOf(taker)
  const written = fc
    .tuple(requests, requests)
    .map(([first, second]) => {
      const before = write(taker, defaultParameters, first) ?? defaultParameters
      return { before, after: write(taker, before, second), sent: second }
    })
    .filter(({ after }) => after !== undefined)

  test('reads back as it was sent, and is kept where it was not', () => {
    fc.assert(
      fc.property(written, ({ before, after, sent }) => {
        const [was, is] = [before, after ?? before].map(one => showParameters(one, taker))
        for (const [_, { name, of, old, store = (value: unknown) => value }] of termRows) {
          if (!of.includes(taker)) continue
          const by = name in sent ? store(sent[name]) : old && old.name in sent ? sent[old.name] : was?.[name]
          expect(is?.[name], name).toEqual(by)
        }
      }),
    )
  })

  test('can be written back as it was read, and a write of nothing changes nothing', () => {
    fc.assert(
      fc.property(written, ({ after = defaultParameters }) => {
        const shown = showParameters(after, taker)
        for (const body of [{}, taker === 'role' ? shown : {}])
          expect(showParameters(write(taker, after, body) ?? defaultParameters, taker)).toEqual(shown)
      }),
    )
  })
})
