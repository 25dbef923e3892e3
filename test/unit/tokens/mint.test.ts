import { expect, test } from 'vitest'
import { tokenDisplayName } from '../../../shared/tokens/mint.ts'

test.each([
  ['cloud', '', 'cloud'],
  ['cloud', 'dev', 'cloud-dev'],
  ['cloud', 'a b/c_d.é', 'cloud-a-b-c-d'],
  ['-x-', '-', 'x'],
])('the display name of %j and %j is %j', (prefix, name, shown) => {
  expect(tokenDisplayName(prefix, name)).toBe(shown)
})
