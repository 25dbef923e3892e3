import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import {
  fetchWithinBudget,
  issuerMemory,
  rememberedKeys,
} from '../../../../shared/auth-method/login-jwt/fetch-keys.ts'
import type { AwsIssuer } from '../../../../shared/identity-proof/aws-issuer.ts'
import type { IssuerFetchFault } from '../../../../shared/model/issuer-memory.ts'
import type { Ports } from '../../../../shared/ports.ts'
import { failed, ok, type Result } from '../../../../shared/values/result.ts'
import { publicJwks } from '../../../builders/web-token.ts'

const KEYS = JSON.stringify({ keys: [{ ...publicJwks.rsa, kid: 'RSA_0', use: 'sig' }] })
const NOW = 1_790_000_000_000

type Answer = Result<string, IssuerFetchFault>

/** An environment of the login function whose clock the test moves, and whose fetches are counted. */
function environment(answer: () => Answer | Promise<Answer>) {
  const world = { now: NOW, fetches: 0 }
  const ports = {
    memory: {},
    clock: { now: () => world.now },
    issuerKeys: {
      fetch: async () => {
        world.fetches += 1
        return answer()
      },
    },
  } as unknown as Ports
  const ask = (issuer: AwsIssuer, source: string, isKnown = false): Promise<string> =>
    fetchWithinBudget(
      // each request began a second ago
      { ports, now: world.now - 1000, request: { source, deadline: world.now + 15_000 } } as unknown as Call,
      issuer,
      isKnown,
    ).then(
      ({ kind }) => kind,
      ({ code }: { code: string }) => code,
    )
  return { world, ports, ask }
}

const invented = (): AwsIssuer => ({ id: randomUUID(), partition: 'aws' })
const addressOf = (number: number): string => `198.51.100.${number}`

/** Invented issuers of the test, all within a minute. `FUZZ_TOKENS` sets another number: a million take a minute. */
const INVENTED = Number(process.env['FUZZ_TOKENS'] ?? 20_000)

describe('the budget of fetches that strangers can cause', () => {
  test(`${INVENTED} invented issuers from 100 addresses cause 60 fetches in a minute, and use little memory`, async () => {
    const { world, ports, ask } = environment(() => failed('unknown'))
    const counts: Record<string, number> = {}
    for (let made = 0; made < INVENTED; made++) {
      world.now = NOW + Math.floor((made / INVENTED) * 59_000)
      const result = await ask(invented(), addressOf(made % 100))
      counts[result] = (counts[result] ?? 0) + 1
    }
    expect(world.fetches).toBe(60)
    expect(counts).toEqual({ unknown: 60, busy: INVENTED - 60 })
    expect(issuerMemory(ports).results.size).toBe(60)
    expect(issuerMemory(ports).minute.bySource.size).toBeLessThanOrEqual(100)
  }, 600_000)

  test('one address causes ten fetches in a minute, and other addresses still cause some', async () => {
    const { world, ask } = environment(() => failed('unknown'))
    const answers = []
    for (let made = 0; made < 12; made++) answers.push(await ask(invented(), addressOf(1)))
    expect(answers).toEqual([...Array(10).fill('unknown'), 'busy', 'busy'])
    expect(await ask(invented(), addressOf(2))).toBe('unknown')
    world.now += 60_000
    expect(await ask(invented(), addressOf(1))).toBe('unknown')
    expect(world.fetches).toBe(12)
  })

  test('requests that began before a fetch share it, and take nothing from the budget of their address', async () => {
    const gate = Promise.withResolvers<Answer>()
    const { world, ask } = environment(() => gate.promise)
    const issuer = invented()
    const asked = Array.from({ length: 20 }, () => ask(issuer, addressOf(1)))
    gate.resolve(ok(KEYS))
    expect(await Promise.all(asked)).toEqual(Array(20).fill('keys'))
    expect(world.fetches).toBe(1)
  })

  test('three faults in a row pause all fetches for 30 s, and a success starts the count again', async () => {
    const answers = [
      failed('failed'),
      failed('timeout'),
      ok(KEYS),
      failed('failed'),
      ok('<html>'),
      failed('timeout'),
    ]
    const { world, ask } = environment(
      () => (answers.shift() as Result<string, IssuerFetchFault>) ?? ok(KEYS),
    )
    const seen = []
    for (let made = 0; made < 7; made++) seen.push(await ask(invented(), addressOf(made)))
    expect(seen).toEqual(['failed', 'timeout', 'keys', 'failed', 'malformed', 'timeout', 'busy'])
    world.now += 29_999
    expect(await ask(invented(), addressOf(7))).toBe('busy')
    world.now += 1
    expect(await ask(invented(), addressOf(7))).toBe('keys')
  })

  test('known issuers have 600 fetches a minute, also when strangers have used up theirs', async () => {
    const { world, ask } = environment(() => failed('unknown'))
    for (let made = 0; made < 60; made++) await ask(invented(), addressOf(made))
    expect(await ask(invented(), addressOf(99))).toBe('busy')
    const answers = []
    for (let made = 0; made < 601; made++) answers.push(await ask(invented(), addressOf(1), true))
    expect(answers).toEqual([...Array(600).fill('unknown'), 'busy'])
    expect(world.fetches).toBe(660)
  })

  test('a clock that was set back ends the minute, the pause and the memory of failures', async () => {
    const results: Answer[] = []
    const { world, ports, ask } = environment(() => results.shift() ?? ok(KEYS))
    world.now = NOW + 3_600_000
    for (let made = 0; made < 10; made++) await ask(invented(), addressOf(1))
    results.push(failed('failed'), failed('failed'), failed('failed'))
    const failing = invented()
    for (const issuer of [invented(), invented(), failing]) await ask(issuer, addressOf(2))
    expect(await ask(invented(), addressOf(3))).toBe('busy')
    world.now = NOW
    expect(rememberedKeys(ports, failing)).toBeUndefined()
    expect(await ask(failing, addressOf(1))).toBe('keys')
  })

  test.each(['before', 'after'])(
    'a fetch that a freeze interrupted changes nothing if it ends %s the fetch that took its place',
    async order => {
      const answers: PromiseWithResolvers<Answer>[] = []
      const { world, ports, ask } = environment(() => {
        answers.push(Promise.withResolvers())
        return answers.at(-1)?.promise ?? ok(KEYS)
      })
      const issuer = invented()
      const waiting = [ask(issuer, addressOf(1))]
      world.now += 5_000
      waiting.push(ask(issuer, addressOf(1)))
      world.now += 3_600_000
      waiting.push(ask(issuer, addressOf(1)))
      answers[order === 'before' ? 0 : 1]?.resolve(order === 'before' ? failed('timeout') : ok(KEYS))
      await waiting[order === 'before' ? 0 : 2]
      if (order === 'before') waiting.push(ask(issuer, addressOf(1)))
      answers[0]?.resolve(failed('timeout'))
      answers[1]?.resolve(ok(KEYS))
      expect(await Promise.all(waiting)).toEqual(
        ['timeout', 'timeout', 'keys', 'keys'].slice(0, waiting.length),
      )
      expect(rememberedKeys(ports, issuer)?.kind).toBe('keys')
      expect(world.fetches).toBe(2)
    },
  )

  // new accounts behind one address, such as the NAT gateway of an organization
  test.each([
    [1, 100],
    [20, 5],
  ])(
    'with %i environment(s), 1,000 new accounts behind one address are known after %i minutes',
    async (count, minutes) => {
      const environments = Array.from({ length: count }, () => environment(() => ok(KEYS)))
      let waiting = Array.from({ length: 1000 }, invented)
      let passed = 0
      for (; waiting.length > 0; passed++) {
        for (const one of environments) one.world.now = NOW + passed * 60_000
        const left: AwsIssuer[] = []
        for (const [index, issuer] of waiting.entries())
          if ((await environments[index % count]?.ask(issuer, addressOf(1))) === 'busy') left.push(issuer)
        waiting = left
      }
      expect(passed).toBe(minutes)
    },
  )
})
