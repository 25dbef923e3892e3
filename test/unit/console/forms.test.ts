import { describe, expect, test } from 'vitest'
import { compileConsoleForms, insertConsoleForms } from '../../../infra/build/console-forms.ts'
import {
  fillPath,
  findLine,
  formatFieldValue,
  listDifferences,
  parseFieldText,
  parseFormFields,
  readErrorLine,
} from '../../../shared/console/forms.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'

const forms = compileConsoleForms(endpointGroups)

const rowOf = (method: string, path: string) =>
  endpointGroups
    .flatMap(({ endpoints }) => endpoints)
    .find(one => one.method === method && one.path === `/${path}`)

describe('the forms of the console page', () => {
  test('have the current fields of the endpoint table with their descriptions', () => {
    for (const { path, fields } of Object.values(forms)) {
      const known = rowOf('POST', path)?.fields ?? {}
      for (const { name, doc } of parseFormFields(fields)) expect(known[name]?.doc, name).toBe(doc)
    }
    const names = parseFormFields(forms.role.fields).map(({ name }) => name)
    const current = Object.entries(rowOf('POST', forms.role.path)?.fields ?? {})
      .filter(([, { replacedBy }]) => replacedBy === undefined)
      .map(([name]) => name)
    expect(names).toEqual(current.filter(name => name !== 'lease'))
    expect(parseFormFields(forms.policy.fields).map(({ name }) => name)).toEqual(['policy'])
    expect(parseFormFields(forms.mount.fields).map(({ name }) => name)).toEqual(['type', 'description'])
  })

  test('need the capabilities of the endpoint table, and delete at the path that creates', () => {
    expect(
      Object.fromEntries(
        Object.entries(forms).map(([name, { creates, isSudo }]) => [name, { creates, isSudo }]),
      ),
    ).toEqual({
      role: { creates: 'create', isSudo: false },
      mount: { creates: 'update', isSudo: true },
      tuning: { creates: 'update', isSudo: false },
      policy: { creates: 'create', isSudo: false },
    })
    for (const { path, isSudo } of [forms.role, forms.mount, forms.policy])
      expect(rowOf('DELETE', path)?.access).toEqual({
        by: 'policy',
        capability: 'delete',
        ...(isSudo ? { sudo: true } : {}),
      })
  })

  test('contain no secret', () => {
    const [group] = endpointGroups.filter(({ name }) => name === 'policies')
    const broken = {
      name: 'policies',
      endpoints: (group?.endpoints ?? []).map(row => ({
        ...row,
        fields: { token: { doc: 'Token', schema: { type: 'string' }, read: String, secret: true as const } },
      })),
    }
    const others = endpointGroups.filter(one => one !== group)
    expect(() => compileConsoleForms([...others, broken])).toThrow('would show the secret token')
    expect(() => compileConsoleForms([])).toThrow('has no endpoint for a form')
    expect(() => insertConsoleForms('<main></main>', endpointGroups)).toThrow('the page lacks <template')
  })
})

describe('a value of a form', () => {
  const field = (kind: 'list' | 'json' | 'flag' | 'text') => ({ name: 'some', kind, doc: '' })

  test.each([
    ['list', ['a', 'b,c'], 'a\nb,c'],
    ['list', [], ''],
    ['list', ['two\nlines', '[a'], '["two\\nlines","[a"]'],
    ['list', [' a'], '[" a"]'],
    ['json', { team: ['a', ''] }, '{\n "team": [\n  "a",\n  ""\n ]\n}'],
    ['json', {}, ''],
    ['flag', true, 'true'],
    ['flag', false, 'false'],
    ['text', 'some text', 'some text'],
  ] as const)('of the kind %s is read back as it was shown: %j', (kind, value, text) => {
    expect(formatFieldValue(kind, value)).toBe(text)
    expect(parseFieldText(field(kind), text)).toEqual(value)
  })

  test('is unset if the object lacks the flag or another value', () => {
    expect(
      (['flag', 'list', 'json', 'text'] as const).map(kind => formatFieldValue(kind, undefined)),
    ).toEqual(['', '', '', ''])
  })

  test('that is no JSON is refused with the name of its field', () => {
    expect(() => parseFieldText(field('json'), '{')).toThrow('some must be JSON.')
    expect(() => parseFieldText(field('list'), '[a')).toThrow('some must be JSON.')
  })
})

test('differences name each field that was changed, added or removed, and a new or missing object', () => {
  expect(listDifferences({ a: 1, b: [1], c: 1 }, { a: 1, b: [2], d: 1 })).toEqual(['b', 'c', 'd'])
  expect(listDifferences({ a: [1] }, { a: [1] })).toEqual([])
  expect(listDifferences({ a: 1 }, undefined)).toEqual(['it is gone'])
  expect(listDifferences(undefined, { a: 1 })).toEqual(['it is new'])
  expect(listDifferences(undefined, undefined)).toEqual([])
})

test('paths encode each name, and keep patterns of a replacement as text', () => {
  expect(fillPath('auth/:mount/role/:role', ['a/b', '$& <x>'])).toBe('auth/a%2Fb/role/%24%26%20%3Cx%3E')
  expect(fillPath('auth/:mount/role/:role', ['m', '$&:role'], String)).toBe('auth/m/role/$&:role')
})

test('the line of an error is found in the text', () => {
  expect(readErrorLine('failed to parse policy: line 2: expected a value')).toBe(2)
  expect(readErrorLine('refused')).toBeUndefined()
  const text = 'one\ntwo\nthree'
  const { start, end } = findLine(text, 2)
  expect(text.slice(start, end)).toBe('two')
  expect(findLine(text, 9)).toEqual({ start: 14, end: 14 })
})
