import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { BadValue, type Field } from '../../../shared/api/fields.ts'
import { api, done, freshMount } from '../../support/cluster.ts'
import { filled, type Way, ways } from '../../support/endpoints.ts'
import { ec2Role } from '../../support/things.ts'

const values: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1e308,
  2 ** 53,
  0.5,
  true,
  false,
  [],
  {},
  [[]],
  [{}],
  [''],
  [null],
  '0',
  '-1',
  '1h',
  '9999999999h',
  'root',
  'ROOT',
  '__proto__',
  { __proto__: null, constructor: 1, toString: {} },
  ['__proto__', 'constructor'],
  '\u0000\u0001\u007f',
  '\u{1f600}é中',
  '../../..',
  '{{identity.entity.id}}',
  'x'.repeat(5000),
  Array.from({ length: 200 }, (_, index) => `x${index}`),
  'arn:aws:iam::111122223333:role/x',
  'AAAA',
  'hvs.x',
  'hvb.1.AAAA',
]

const isReadable = (field: Field<unknown>, value: unknown): boolean => {
  try {
    field.read(value)
    return true
  } catch (error) {
    if (error instanceof BadValue) return false
    throw error
  }
}

/** Mostly values that a field reads, so that what lies behind the reading is reached too. */
const valueFor = (field: Field<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...values.filter(value => isReadable(field, value))) },
    { weight: 1, arbitrary: fc.constantFrom(...values) },
  )

const bodiesFor = ({ endpoint: { fields } }: Way): Record<string, unknown>[] => {
  const names = Object.keys(fields)
  const body = fc.record(
    Object.fromEntries(names.map(name => [name, valueFor(fields[name] as Field<unknown>)])),
    {
      requiredKeys: names.filter(name => fields[name]?.required),
      noNullPrototype: true,
    },
  )
  return fc.sample(body, { numRuns: BODIES, seed: SEED })
}

/** The same ones in every run. */
const SEED = 20_260
const BODIES = 6

const anotherRoot = async (): Promise<string> =>
  (await done('POST', '/auth/token/create', { policies: 'root', ttl: '1h' })).body.auth.client_token

describe('no parameters make an endpoint fail on its own account: auth-behaviour 1.5', () => {
  let mount = ''
  let token = ''
  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    token = await anotherRoot()
  })

  const reading = ways.filter(({ endpoint: { method } }) => method === 'POST')
  test.each(reading)('$title', async way => {
    const path = filled(way.path, mount)
    // where a role is asked for, nothing but its absence would be found out
    if (way.path.includes('/role/:role/')) await done('POST', path.replace(/\/\w+$/, ''), ec2Role.body)
    for (const body of bodiesFor(way)) {
      const reply = await api('POST', path, body, { token })
      const shown = `${JSON.stringify(body).slice(0, 2000)} → ${reply.text}`
      // 502: the provider did not like what was configured
      expect([500, 503, 504], shown).not.toContain(reply.status)
      expect(reply.text === '' || Array.isArray(reply.body?.errors ?? []), shown).toBe(true)
      // some of them end the caller's token
      if (reply.status === 403 || way.path.includes('revoke')) token = await anotherRoot()
    }
  })
})
