import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { root } from '../../../../infra/checkout.ts'
import { type ClusterFile, tell } from '../../../../infra/local/cluster-file.ts'

const FOLDER = `${root}.local/told-${process.pid}`
const named = { cluster: `told-${process.pid}`, memory: true }
const fileOf = (base_url: string) => ({ base_url }) as ClusterFile
const found = (): unknown => JSON.parse(readFileSync(`${FOLDER}/cluster.json`, 'utf8'))

test('the file of a cluster in memory is there for as long as that runs, and one that is unlisted neither writes nor removes it', () => {
  const one = tell(named, fileOf('one'))
  const other = tell({ ...named, unlisted: true }, fileOf('other'))
  expect(found()).toEqual({ base_url: 'one' })
  other.anew(fileOf('other still'))
  other.end()
  expect(found()).toEqual({ base_url: 'one' })
  one.anew(fileOf('one anew'))
  expect(found()).toEqual({ base_url: 'one anew' })
  one.end()
  expect(existsSync(FOLDER)).toBe(false)
})
