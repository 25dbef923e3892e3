import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Call } from '../../../../shared/api/call.ts'
import { fetchWithinBudget, issuerMemory } from '../../../../shared/auth-method/login-jwt/fetch-keys.ts'
import type { AwsIssuer } from '../../../../shared/identity-proof/aws-issuer.ts'
import type { IssuerFetchFault } from '../../../../shared/model/issuer-memory.ts'
import type { Ports } from '../../../../shared/ports.ts'
import { failed, ok, type Result } from '../../../../shared/values/result.ts'
import { publicJwks } from '../../../builders/web-token.ts'

const KEYS = JSON.stringify({ keys: [{ ...publicJwks.rsa, kid: 'RSA_0', use: 'sig' }] })
const NOW = 1_790_000_000_000

/** An environment of the login function whose clock the test moves, and whose fetches are counted. */
function environment(answer: () => Result<string, IssuerFetchFault>) {
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
  const ask = (issuer: AwsIssuer, source: string): Promise<string> =>
    fetchWithinBudget(
      { ports, now: world.now, request: { source, deadline: world.now + 15_000 } } as unknown as Call,
      issuer,
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
