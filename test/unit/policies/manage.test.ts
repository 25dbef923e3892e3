import { describe, expect, test } from 'vitest'
import { ApiError } from '../../../shared/api/errors.ts'
import { DEFAULT_POLICY_HCL } from '../../../shared/policies/builtin.ts'
import {
  deletePolicy,
  listPolicies,
  listPolicyRules,
  readPolicy,
  readPolicyRules,
  writePolicy,
} from '../../../shared/policies/manage.ts'
import { type Item, key } from '../../../shared/storage/kinds.ts'
import { inEachForm } from '../../builders/base64-forms.ts'
import { callWith } from '../../support/requests/call.ts'
import { item } from '../../support/tables/items.ts'
import { memoryStore } from '../../support/tables/memory-store.ts'

const TEXT = 'path "a" { capabilities = ["read"] }\n'
const stored = (name: string, text: string): Item<'policy'> => item(key('policy', name), { text }, 'r1')
const named = (name: string, more: object = {}) => callWith({ subjectKey: key('policy', name), ...more })
const base64 = (bytes: string | Uint8Array) => Buffer.from(bytes).toString('base64')

type Written = [title: string, given: { policy?: string; rules?: string }, text: string]

describe('writing a policy', () => {
  test.each<Written>([
    ['as written, with its comments and spaces', { policy: `# why\n${TEXT}` }, `# why\n${TEXT}`],
    ['JSON as written', { policy: ' {"path": {}}' }, ' {"path": {}}'],
    ['by its deprecated field', { rules: TEXT }, TEXT],
    ['the current field first', { policy: TEXT, rules: '# old' }, TEXT],
    ['from base64', { policy: base64(TEXT) }, TEXT],
    ...inEachForm(base64(TEXT)).map(([form, policy]): Written => [`from base64, ${form}`, { policy }, TEXT]),
  ])('the policy is stored: %s', (_, given, text) => {
    expect(writePolicy(named('dev', { parameters: given })).changes).toEqual([
      { kind: 'put', key: key('policy', 'dev'), data: { text }, expected: 'absent', times: {} },
    ])
  })

  test('an existing policy is replaced conditionally', () => {
    const [change] =
      writePolicy(named('dev', { parameters: { policy: TEXT }, subject: stored('dev', '#') })).changes ?? []
    expect(change).toMatchObject({ expected: { rev: 'r1' } })
  })

  test.each([
    ['no text', 'dev', {}, 'policy is required'],
    ['an empty text', 'dev', { policy: ' \n' }, 'policy is required'],
    ['a text that cannot be read', 'dev', { policy: 'path "a" {' }, 'failed to parse policy: line 1'],
    ['bytes that are no text', 'dev', { policy: base64(Uint8Array.of(0xff, 0xfe, 0xfd)) }, 'not UTF-8'],
    ['the root policy', 'root', { policy: TEXT }, 'cannot be changed'],
    ['a name that no tag can carry', 'a:b', { policy: TEXT }, 'a policy name may contain'],
    ['a name with a space at its end', 'dev ', { policy: TEXT }, 'a policy name may contain'],
  ])('%s is rejected', (_, name, given, message) => {
    expect(() => writePolicy(named(name, { parameters: given }))).toThrow(ApiError)
    expect(() => writePolicy(named(name, { parameters: given }))).toThrow(message)
  })
})

describe('reading, listing, deleting', () => {
  test.each([
    ['a stored one', 'dev', stored('dev', TEXT), TEXT],
    ['default as it is built in', 'default', undefined, DEFAULT_POLICY_HCL],
    ['default as it was rewritten', 'default', stored('default', TEXT), TEXT],
    ['root, which has no text', 'root', undefined, ''],
  ])('%s is returned', (_, name, subject, text) => {
    expect(readPolicy(named(name, { subject })).answer).toEqual({
      kind: 'data',
      data: { name, policy: text },
    })
    expect(readPolicyRules(named(name, { subject })).answer).toEqual({
      kind: 'data',
      data: { name, rules: text },
    })
  })

  test.each(['nobody', '__proto__', 'constructor'])('the policy %s does not exist', name => {
    expect(() => readPolicy(named(name))).toThrow(expect.objectContaining({ code: 'not_found' }))
  })

  test('a list contains the built-in policies once, sorted', async () => {
    const { store } = memoryStore([stored('default', TEXT), stored('beta', TEXT), stored('alpha', TEXT)])
    const call = callWith({ ports: { store } })
    const keys = ['alpha', 'beta', 'default', 'root']
    expect((await listPolicies(call)).answer).toEqual({ kind: 'keys', keys })
    expect((await listPolicyRules(call)).answer).toEqual({ kind: 'data', data: { keys, policies: keys } })
  })

  test.each([
    [{ limit: 2 }, ['alpha', 'beta']],
    [{ after: 'alpha', limit: 2 }, ['beta', 'default']],
    [{ after: 'default' }, ['root', 'zeta']],
    [{ after: 'default', limit: -1 }, ['root', 'zeta']],
  ])('a page of the list contains stored and built-in policies: %j', async (given, keys) => {
    const { store } = memoryStore(['zeta', 'beta', 'alpha'].map(name => stored(name, TEXT)))
    const call = callWith({ ports: { store }, parameters: given })
    expect((await listPolicies(call)).answer).toEqual({ kind: 'keys', keys })
    expect((await listPolicyRules(call)).answer).toEqual({ kind: 'data', data: { keys, policies: keys } })
  })

  test('deleting a missing policy succeeds, and built-in policies cannot be deleted', () => {
    expect(deletePolicy(named('dev')).changes).toEqual([
      { kind: 'delete', key: key('policy', 'dev'), expected: 'any' },
    ])
    expect(() => deletePolicy(named('root'))).toThrow('cannot be deleted')
    expect(() => deletePolicy(named('default'))).toThrow('cannot be deleted')
  })
})
