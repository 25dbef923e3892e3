import { existsSync, readFileSync, rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '../../../../../infra/checkout.ts'
import { type ClusterFile, tell } from '../../../../../infra/local/os/cluster-file.ts'

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

test('what a kept cluster told is there again when one in memory of the same name ends, unless somebody told something else meanwhile', () => {
  onTestFinished(() => rmSync(FOLDER, { recursive: true }))
  const kept = tell({ ...named, memory: false }, fileOf('kept'))
  const passing = tell(named, fileOf('passing'))
  expect(found()).toEqual({ base_url: 'passing' })
  passing.end()
  expect(found()).toEqual({ base_url: 'kept' })
  const another = tell(named, fileOf('another'))
  kept.anew(fileOf('kept anew'))
  another.end()
  expect(found()).toEqual({ base_url: 'kept anew' })
  kept.end()
  expect(found()).toEqual({ base_url: 'kept anew' })
})
