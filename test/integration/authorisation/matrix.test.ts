import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AccessRule } from '../../../shared/api/endpoint.ts'
import { capabilities } from '../../../shared/model/policy.ts'
import { endsService, filled, type Way, ways } from '../../support/requests/endpoints.ts'
import type { Reply } from '../../support/service/api.ts'
import { clock } from '../../support/service/clock.ts'
import { api, done, fresh, freshMount, tokenWith } from '../../support/service/cluster.ts'

type ByPolicy = Extract<AccessRule, { by: 'policy' }>

const guarded = ways.flatMap(way => {
  const { access } = way.endpoint
  return access.by === 'policy' ? [{ ...way, access }] : []
})

const everything = capabilities.filter(word => word !== 'deny')
const except = (words: readonly string[]) => everything.filter(one => !words.includes(one))

const rule = (path: string, words: readonly string[]) =>
  `path "${path.slice(1)}" { capabilities = ${JSON.stringify(words)} }\n`

/**
 * Returns the capabilities that an endpoint needs for a missing item. A token needs one capability of each
 * list.
 */
const needed = ({ capability, sudo }: ByPolicy): string[][] => [
  capability === 'create-or-update'
    ? ['create', 'update']
    : [capability === 'by-existence' ? 'create' : capability],
  ...(sudo ? [['sudo']] : []),
]

/** Returns the smallest sets of capabilities that are sufficient. */
const sufficient = (access: ByPolicy): string[][] => {
  const [first = [], ...others] = needed(access)
  return first.map(word => [word, ...others.flat()])
}

// Returns malformed parameters of an endpoint. A client without permission must not learn that the parameters
// are malformed.
const unreadable = ({ endpoint: { method, fields } }: Way): unknown =>
  method === 'POST'
    ? Object.fromEntries(Object.keys(fields).map(name => [name, { not: { a: 'value' } }]))
    : undefined

// the answer without its date and request ID
const whole = ({ status, headers: { date: _, 'x-request-id': __, ...headers }, text }: Reply) => ({
  status,
  headers,
  text,
})

describe('every answer with status 403 is identical', () => {
  let mount = ''
  let reference: ReturnType<typeof whole>
  let noToken: ReturnType<typeof whole>
  const powerless: Record<string, string> = { 'no token': '', 'an unknown token': `hvs.${'x'.repeat(24)}` }
  const allBut: Record<string, string> = {}

  beforeAll(async () => {
    ;({ path: mount } = await freshMount())
    const all = rule('/*', everything)
    powerless['a revoked token'] = await revoked(await tokenWith(all))
    powerless['an expired token'] = await tokenWith(all, { ttl: '10m' })
    powerless['an expired batch token'] = await tokenWith(all, { ttl: '10m', type: 'batch' })
    powerless['a child of an expired token'] = await childOfExpired(all, {})
    powerless['a batch child of an expired token'] = await childOfExpired(all, { type: 'batch' })
    powerless['a token for another network'] = await boundElsewhere(all)
    const denials = guarded.map(({ path }) => rule(path.replace(/:\w+/g, '+'), ['deny']))
    powerless['a token with a rule that denies'] = await tokenWith([all, ...new Set(denials)].join(''))
    for (const words of guarded.flatMap(({ access }) => needed(access)))
      allBut[words.join(' or ')] ??= await tokenWith(rule('/*', except(words)))
    reference = whole(await api('GET', '/sys/policy', undefined, { token: '' }))
    noToken = whole(await api('GET', '/sys/policy', undefined, { token: 'hvs.none' }))
    // lifetimes are rounded up to a second
    clock.advance(602)
  })
  afterAll(clock.reset)

  test('with the error texts that clients match', () => {
    expect(reference).toMatchObject({ status: 403, text: '{"errors":["permission denied"]}' })
    const errors = ['2 errors occurred:\n\t* permission denied\n\t* invalid token\n\n']
    expect(noToken).toMatchObject({ status: 403, text: JSON.stringify({ errors }) })
  })

  // the dispatcher checks tokens before endpoints, so each endpoint meets only some of the invalid tokens
  const everywhere = ['no token', 'a token with a rule that denies']
  const callersOf = (index: number): [who: string, token: string][] => {
    const others = Object.entries(powerless).filter(([who]) => !everywhere.includes(who))
    return Object.entries(powerless).filter(
      ([who]) =>
        everywhere.includes(who) ||
        [0, 1].some(next => others[(2 * index + next) % others.length]?.[0] === who),
    )
  }

  test.each(guarded.map((way, index) => ({ ...way, index })))('for $title', async ({ index, ...way }) => {
    const path = filled(way.path, mount)
    const callers = [
      ...callersOf(index),
      ...needed(way.access)
        .map(words => words.join(' or '))
        .map(words => [`a token for all but ${words}`, allBut[words]] as const),
    ]
    expect(callers.length).toBeGreaterThanOrEqual(5)
    for (const [who, token = ''] of callers) {
      const reply = await api(way.endpoint.method, path, unreadable(way), { token })
      expect(whole(reply), who).toEqual(/unknown|revoked|expired/.test(who) ? noToken : reference)
    }
  })
})

describe('exactly the required capabilities are sufficient', () => {
  let shared = ''
  const batch: Record<string, string> = {}
  beforeAll(async () => {
    ;({ path: shared } = await freshMount())
  })

  const lasting = guarded.filter(({ path }) => !endsService(path))
  test.each(lasting)('$title', async ({ path: template, endpoint: { method }, access }) => {
    const tokens: string[] = []
    for (const words of sufficient(access)) {
      const enough = rule('/*', words)
      batch[enough] ??= await tokenWith(enough, { type: 'batch' })
      tokens.push(batch[enough], await tokenWith(enough))
    }
    for (const token of tokens) {
      const mount = access.capability === 'by-existence' ? (await freshMount()).path : shared
      const path = filled(template, mount)
      const reply = await api(method, path, method === 'POST' ? {} : undefined, { token })
      expect(reply.text).not.toMatch(/permission denied|unsupported/)
      expect(reply.status, reply.text).toBeLessThan(500)
    }
  })
})

async function revoked(token: string): Promise<string> {
  await done('POST', '/auth/token/revoke', { token })
  return token
}

/**
 * Creates a token with a TTL of an hour, whose parent expires after ten minutes. Nothing deletes the
 * children of expired tokens.
 */
async function childOfExpired(policy: string, given: Record<string, unknown>): Promise<string> {
  const token = await tokenWith(policy, { ttl: '10m' })
  const { body } = await done('POST', '/auth/token/create', { ttl: '1h', ...given }, { token })
  return body.auth.client_token
}

async function boundElsewhere(policy: string): Promise<string> {
  const name = fresh('r')
  await done('POST', `/sys/policies/acl/${name}`, { policy })
  await done('POST', `/auth/token/roles/${name}`, { token_bound_cidrs: '10.0.0.0/8', allowed_policies: name })
  const { body } = await done('POST', `/auth/token/create/${name}`, { policies: [name] })
  return body.auth.client_token
}
