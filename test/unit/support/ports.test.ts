import { expect, test } from 'vitest'
import { portsWith } from '../../builders/ports.ts'

test('a port that a test gives is used as it is, and one that it does not give throws with its name', async () => {
  const ports = portsWith({ clock: { now: () => 7 } })
  const { clock, store } = ports
  expect(clock.now()).toBe(7)
  expect(() => store.read([])).toThrow('the code under test uses store.read: the test gives no port store')
  expect(await ports).toBe(ports)
})
