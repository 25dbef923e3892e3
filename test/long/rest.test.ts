import { expect, test } from 'vitest'
import { monthlyCosts, sumOf } from '../bench/at-rest.ts'
import { pairAtRest } from '../support/set/at-rest.ts'
import { warmSnapshot } from '../support/set/play.ts'

// `npm run bench -- --rest`: what a pair at rest asks in a minute, and what that costs in a month.

const line = (...entries: (string | number)[]): void => {
  const [name = '', ...rest] = entries.map(one => (typeof one === 'number' ? one.toFixed(2) : one))
  process.stdout.write(`  ${name.padEnd(22)}${rest.map(one => one.padStart(12)).join('')}\n`)
}

test('a pair at rest, priced', async () => {
  const rest = await pairAtRest(await warmSnapshot({ memory: true, names: ['east', 'west'] }))
  process.stdout.write('\nA pair at rest, a minute: the secondary is west\n')
  line('', 'runs', 'calls', 'read units', 'write units')
  for (const [name, { invocations, calls, reads, writes }] of Object.entries(rest.functions))
    line(name, invocations, calls, reads, writes)
  for (const [method, count] of Object.entries(rest.link)) line(`link ${method}`, count)
  const costs = monthlyCosts(rest)
  process.stdout.write('\nIn a month, USD (list prices of us-east-1)\n')
  for (const [what, usd] of Object.entries(costs)) line(what, usd)
  line('sum', sumOf(costs))
  expect(sumOf(costs)).toBeLessThanOrEqual(15)
})
