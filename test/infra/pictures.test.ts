import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { endpointGroups } from '../../shared/endpoints/all.ts'
import type { ClusterMode } from '../../shared/model/cluster.ts'
import type { PullerState } from '../../shared/model/secondary.ts'
import { promotionSteps } from '../../shared/replication/promotion/step.ts'

// Tests that the names in the diagrams of the pages exist in the code, in the same order.

const read = (path: string): string => readFileSync(checkoutRoot + path, 'utf8')

/** Returns the diagrams of a page that begin with a given kind, without their first line. */
function picturesOf(page: string, kind: string): string[] {
  const found = [...read(page).matchAll(/^```mermaid\n([\s\S]*?)^```/gm)].flatMap(([, text = '']) =>
    text.startsWith(`${kind}\n`) ? [text.slice(kind.length + 1)] : [],
  )
  expect(found.length, page).toBeGreaterThan(0)
  return found
}

describe('the sequence diagram of a login', () => {
  test.each(['ec2', 'iam'])('has the calls of the function: %s', type => {
    const [picture = ''] = picturesOf(`docs/spec/login-${type}.md`, 'sequenceDiagram')
    const named = [...picture.matchAll(/->>\w: (\w+) \(/g)].map(([, name = '']) => name)
    expect(named.length).toBeGreaterThan(7)
    const [, body = ''] = read(`shared/auth-method/login-${type}/login.ts`).split('export const ')
    const at = (name: string) => body.search(`\\b${name}\\b`)
    // a phase in another module calls the remaining functions
    const gather = read(`shared/auth-method/login-${type}/gather.ts`)
    const elsewhere = named.filter(name => at(name) < 0)
    expect(elsewhere.filter(name => !gather.includes(` ${name}(`))).toEqual([])
    expect(elsewhere.length).toBeLessThan(2)
    // the committing call has the decision among its arguments
    const [committing, ...others] = named.filter(name => at(name) >= 0).toReversed()
    expect(committing).toBe('commitLogin')
    expect(others.toSorted((a, b) => at(b) - at(a))).toEqual(others)
  })
})

describe('the state diagram of a set', () => {
  const modes = { disabled: true, primary: true, secondary: true, bootstrapping: true } satisfies Record<
    ClusterMode,
    true
  >
  const states = {
    idle: true,
    'stream-wals': true,
    'merkle-diff': true,
    'merkle-sync': true,
  } satisfies Record<PullerState['state'], true>
  const [picture = ''] = picturesOf('docs/spec/replication.md', 'stateDiagram-v2')
  const arrows = [...picture.matchAll(/^( +)([\w*[\]]+) --> (\w+)(?:: (.*))?$/gm)].map(
    ([, { length } = '', from = '', to = '', label = '']) => ({ depth: length, from, to, label }),
  )
  const namesAt = (depth: number): Set<string> =>
    new Set(
      arrows.flatMap(one => (one.depth === depth ? [one.from, one.to] : [])).filter(name => name !== '[*]'),
    )

  test('has all modes of clusters except bootstrapping, and all states of secondaries', () => {
    const { bootstrapping: _, ...begun } = modes
    expect(namesAt(4)).toEqual(new Set(Object.keys(begun)))
    expect(new Set([...namesAt(8)].map(name => name.replace('_', '-')))).toEqual(new Set(Object.keys(states)))
  })

  test('labels its seven arrows with existing requests', () => {
    const paths = new Set(endpointGroups.flatMap(({ endpoints }) => endpoints.map(({ path }) => path)))
    const asked = arrows.flatMap(({ depth, label }) =>
      depth === 4 && label !== '' ? [label.split(',')[0]] : [],
    )
    expect(asked.filter(one => !paths.has(`/sys/replication/dr/${one}`))).toEqual([])
    expect(asked).toHaveLength(7)
  })
})

test.each([
  ['A planned switch', promotionSteps],
  ['A disaster', [...promotionSteps.filter(step => step !== 'handover'), 'afterwards']],
])('the timeline of %s has the steps of a promotion in order', (title, steps) => {
  const picture = picturesOf('docs/spec/promotion.md', 'timeline').find(one =>
    one.includes(`title ${title}\n`),
  )
  expect([...(picture ?? '').matchAll(/^ +(\w+) :/gm)].map(([, step]) => step)).toEqual(steps)
})
