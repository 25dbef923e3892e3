import { expect, test } from 'vitest'
import { shownSecondary } from '../../../../../infra/local/pair/stand.ts'

const stand = {
  mode: 'secondary',
  state: 'stream-wals',
  isBuilding: false,
  connection: 'ready',
  primary: 'http://127.0.0.1:10001',
  address: '',
  position: 7,
  root: 'ab',
  lag: 40,
}

test('a secondary tells its role, its primary and how far it is behind', () => {
  expect(shownSecondary('west', stand)).toBe(`west is a DR secondary: it serves no logins, its primary does.
  primary   http://127.0.0.1:10001, connection ready
  state     stream-wals
  lag       newest canary 40 ms old
`)
})

test('one that follows nobody, and has heard nothing, says so', () => {
  const alone = { ...stand, state: 'idle', connection: 'idle', primary: '', lag: undefined }
  expect(shownSecondary('west', alone)).toMatch(/none: it follows nobody[\s\S]*nothing heard yet/)
})
