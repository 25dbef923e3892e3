import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../shared/api/fields.ts'
import {
  createTokenTermFields,
  defaultTokenParameters,
  mergeTokenParameters,
  showTokenParameters,
} from '../../../shared/tokens/parameters.ts'
import { type TokenParameters, type TokenTermOwner, tokenTermRows } from '../../../shared/tokens/terms.ts'
import { requestsOf } from '../../builders/token-terms.ts'

const DAY = 86_400

/** Applies a write of token terms. Returns undefined if the parts of the write conflict. */
function write(taker: TokenTermOwner, stored: TokenParameters, body: Record<string, unknown>) {
  try {
    return mergeTokenParameters(
      stored,
      readParameterFields(createTokenTermFields(taker), body).parameters,
      DAY,
    )
  } catch {
    return undefined
  }
}

describe.each<TokenTermOwner>(['role', 'token-role'])('every term of a %s', taker => {
  const requests = requestsOf(taker)
  const written = fc
    .tuple(requests, requests)
    .map(([first, second]) => {
      const before = write(taker, defaultTokenParameters, first) ?? defaultTokenParameters
      return { before, after: write(taker, before, second), sent: second }
    })
    .filter(({ after }) => after !== undefined)

  test('parameters are returned as sent, and omitted ones are kept', () => {
    fc.assert(
      fc.property(written, ({ before, after, sent }) => {
        const [was, is] = [before, after ?? before].map(one => showTokenParameters(one, taker))
        for (const [_, { name, of, old, store = (value: unknown) => value }] of tokenTermRows) {
          if (!of.includes(taker)) continue
          const by = name in sent ? store(sent[name]) : old && old.name in sent ? sent[old.name] : was?.[name]
          expect(is?.[name], name).toEqual(by)
        }
      }),
    )
  })

  test('returned parameters can be written back, and an empty write changes nothing', () => {
    fc.assert(
      fc.property(written, ({ after = defaultTokenParameters }) => {
        const shown = showTokenParameters(after, taker)
        for (const body of [{}, taker === 'role' ? shown : {}])
          expect(showTokenParameters(write(taker, after, body) ?? defaultTokenParameters, taker)).toEqual(
            shown,
          )
      }),
    )
  })
})
