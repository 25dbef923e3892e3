import { describe, expect, expectTypeOf, test } from 'vitest'
import {
  type EncryptedColumn,
  type EncryptedPaths,
  findEncryptedFields,
  replaceEncryptedText,
} from '../../../shared/storage/encrypted-paths.ts'
import type { EncryptedText } from '../../../shared/values/secret.ts'

const text = (value: string) => value as EncryptedText

interface Nested {
  name: string
  own?: EncryptedText
  inner?: { deep: { text: EncryptedText; number: number }; at?: readonly string[] }
  list: readonly { one: EncryptedText }[]
}

describe('the type of the column of encrypted fields', () => {
  test('the column has every encrypted field, including optional and nested fields, and no other field', () => {
    expectTypeOf<EncryptedPaths<Nested>>().toEqualTypeOf<'own' | 'inner.deep.text' | 'list.*.one'>()
    expectTypeOf<EncryptedPaths<{ a: string; b?: number[] }>>().toEqualTypeOf<never>()
  })

  test('the type requires a row for each field, and no row for kinds without encrypted fields', () => {
    type Column = EncryptedColumn<Pick<Nested, 'own' | 'inner'>>
    expectTypeOf<{ encrypted: { own: 'forget'; 'inner.deep.text': 'renew' } }>().toExtend<Column>()
    expectTypeOf<{ encrypted: { own: 'forget' } }>().not.toExtend<Column>()
    expectTypeOf<{ table: 'data' }>().not.toExtend<Column>()
    expectTypeOf<{ encrypted: { a: 'forget' } }>().not.toExtend<EncryptedColumn<{ a: string }>>()
  })
})

describe('texts at the paths of encrypted fields', () => {
  const data = { name: 'a', own: text('1.x'), inner: { deep: { text: text('2.y'), number: 1 } } }

  test('texts are found under the last name of their path', () => {
    expect(findEncryptedFields(['own', 'inner.deep.text', 'absent', 'inner.other.text'], data)).toEqual([
      { path: 'own', field: 'own', text: '1.x' },
      { path: 'inner.deep.text', field: 'text', text: '2.y' },
    ])
    expect(findEncryptedFields(['own'], undefined)).toEqual([])
  })

  test('texts are replaced without other changes', () => {
    expect(replaceEncryptedText(data, 'inner.deep.text', text('3.z'))).toEqual({
      ...data,
      inner: { deep: { text: '3.z', number: 1 } },
    })
    expect(data.inner.deep.text).toBe('2.y')
  })
})
