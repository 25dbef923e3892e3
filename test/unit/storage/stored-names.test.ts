import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { namesOfStored } from '../../support/types/stored-names.ts'

// Stored attribute names are frozen, because data under another name would not be found. Names on this list
// stay; new names are added.
test('stored attributes have exactly the names of the frozen list', () => {
  const frozen: unknown = JSON.parse(readFileSync(`${checkoutRoot}test/vectors/stored-names.json`, 'utf8'))
  expect(namesOfStored()).toEqual(frozen)
})
