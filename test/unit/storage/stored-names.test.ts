import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from '../../../infra/checkout.ts'
import { namesOfStored } from '../../support/types/stored-names.ts'

// The names under which kinds keep their data are frozen: what is stored under another name is not found any more. Names
// of this list stay; a new one is added to it.
test('stored attributes have the names of the vector', () => {
  const frozen: unknown = JSON.parse(readFileSync(`${root}test/vectors/stored-names.json`, 'utf8'))
  expect(namesOfStored()).toEqual(frozen)
})
