import { expect, test } from 'vitest'
import { portsWith } from '../../builders/ports.ts'

test('the test builder keeps a given port unchanged, and a missing port throws with its name', async () => {
  const ports = portsWith({ clock: { now: () => 7 } })
  const { clock, store } = ports
  expect(clock.now()).toBe(7)
  expect(() => store.read([])).toThrow('the code under test uses store.read: the test gives no port store')
  expect(await ports).toBe(ports)
})
