import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Reply } from '../../../support/service/api.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type ClusterSet, clusterSet } from '../../../support/set/set.ts'

// Every attempt of a step fails. Tests the error text that the caller gets, and that the text's advice works
// once the fault is repaired.

const R = '/sys/replication/dr'

let from: Warm
let set: ClusterSet

beforeAll(async () => {
  from = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})
beforeEach(async () => {
  set = await clusterSet(['east', 'west'], { from, memory: true, aws: true })
})

const onWest = (call: string, given: () => object | Promise<object>) => async (): Promise<Reply> =>
  set
    .at('west')
    .request('POST', `${R}/secondary/${call}`, { dr_operation_token: from.operator, ...(await given()) })
const mode = async (name: string) => (await set.at(name).record()).mode
const token = async () => {
  const { body } = await set
    .at('east')
    .ok('POST', `${R}/primary/secondary-token`, { id: `${set.clock.now()}` })
  return body.wrap_info.token
}
const follows = async () => {
  await set.at('east').ok('POST', '/sys/policies/acl/after', { policy: 'path "a" {}' })
  await set.converge()
}

interface Row {
  where: string
  steps: readonly string[]
  ask: () => Promise<Reply>
  /** whether the status shows the requested role */
  isThere: () => Promise<boolean>
  /** checks the final result */
  holds: () => Promise<unknown>
}

const rows: Readonly<Record<string, Row>> = {
  'a demotion': {
    where: 'east',
    steps: ['close', 'finish'],
    ask: () => set.at('east').request('POST', `${R}/primary/demote`),
    isThere: async () => (await mode('east')) === 'secondary',
    holds: async () => expect((await set.at('east').head()).mode).toBe('closed'),
  },
  'a planned promotion': {
    where: 'west',
    steps: ['verify', 'handover', 'drain', 'claim', 'open', 'serve'],
    ask: onWest('promote', () => ({})),
    isThere: async () => (await mode('west')) === 'primary',
    holds: async () => expect([await mode('east'), await mode('west')]).toEqual(['secondary', 'primary']),
  },
  'a change of the primary by address': {
    where: 'west',
    steps: ['find', 'drain', 'adopt', 'finish'],
    ask: onWest('update-primary', () => ({ update_primary_addrs: ['https://east.test'] })),
    isThere: async () => false,
    holds: follows,
  },
  'a change of the primary by token': {
    where: 'west',
    steps: ['find', 'drain', 'adopt', 'finish'],
    ask: onWest('update-primary', async () => ({ token: await token() })),
    isThere: async () => false,
    holds: follows,
  },
  'the end of replication': {
    where: 'west',
    steps: ['find', 'drain', 'adopt', 'leave', 'forget', 'finish'],
    ask: onWest('disable', () => ({})),
    isThere: async () => (await mode('west')) === 'disabled',
    holds: async () => {
      expect(await set.at('west').record()).toMatchObject({ mode: 'disabled' })
      expect(await set.at('west').record()).not.toHaveProperty('link')
    },
  },
}

const cases = Object.entries(rows).flatMap(([what, { steps }]) =>
  steps.map((step): [string, string] => [what, step]),
)

test.each(cases)('%s whose step %s fails: the advice in the error text works', async (what, step) => {
  const { where, ask, isThere, holds } = rows[what] as Row
  set.at(where).breakStep(step)
  const reply = await ask()
  await set.settled()
  if (reply.status !== 200) {
    expect(reply.status, reply.text).toBe(503)
    expect(reply.text).toMatch(
      /the step \w+ failed in every attempt: .*; find the details.*: the function is broken"|is still running/,
    )
    expect(reply.text).not.toMatch(/repeat the call/)
    // the text of an internal error may not be public
    const shown = await set.at(where).request('GET', `${R}/status`, undefined, { token: '' })
    expect(shown.text).not.toContain('the function is broken')
  }
  set.at(where).breakStep()
  // the schedule continues an unfinished operation
  for (let minutes = 0; minutes < 3; minutes++) {
    set.pass(60_000)
    await set.tick()
    await set.settled()
  }
  expect(await set.at(where).record()).not.toHaveProperty('operation')
  // if the status does not show the requested role, the request is repeated
  if (reply.status !== 200 && !(await isThere())) {
    const again = await ask()
    expect(again.status, `${reply.text}\n${again.text}`).toBe(200)
    await set.settled()
  }
  await holds()
})
