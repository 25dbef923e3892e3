import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../../infra/checkout.ts'
import { type ClusterStateFile, publishClusterFile } from '../../../../../infra/local/os/cluster-file.ts'
import { chooseAuditFileFolder } from '../../../../../infra/local/os/file-folder.ts'
import { takeLock } from '../../../../../infra/local/os/lock.ts'

const FOLDER = `${checkoutRoot}.local/told-${process.pid}`
const cluster = `told-${process.pid}`
const fileOf = (base_url: string) => ({ base_url }) as ClusterStateFile
const found = (folder = FOLDER): unknown => JSON.parse(readFileSync(`${folder}/cluster.json`, 'utf8'))

test('an in-memory cluster has a cluster.json while it runs; an unlisted cluster neither writes nor removes the file', () => {
  const one = publishClusterFile(FOLDER, fileOf('one'), true)
  const other = publishClusterFile(undefined, fileOf('other'), true)
  expect(found()).toEqual({ base_url: 'one' })
  other.replace(fileOf('other still'))
  other.end()
  expect(found()).toEqual({ base_url: 'one' })
  one.replace(fileOf('one anew'))
  expect(found()).toEqual({ base_url: 'one anew' })
  one.end()
  expect(existsSync(FOLDER)).toBe(false)
})

test('when an in-memory cluster ends, the cluster.json of a stored cluster with the same name is restored, unless rewritten meanwhile', () => {
  onTestFinished(() => rmSync(FOLDER, { recursive: true }))
  const kept = publishClusterFile(FOLDER, fileOf('kept'), false)
  const passing = publishClusterFile(FOLDER, fileOf('passing'), true)
  expect(found()).toEqual({ base_url: 'passing' })
  passing.end()
  expect(found()).toEqual({ base_url: 'kept' })
  const another = publishClusterFile(FOLDER, fileOf('another'), true)
  kept.replace(fileOf('kept anew'))
  another.end()
  expect(found()).toEqual({ base_url: 'kept anew' })
  kept.end()
  expect(found()).toEqual({ base_url: 'kept anew' })
})

describe('the folder of cluster.json', () => {
  const own = '/dev/shm/cloud-auth-own'

  test('an in-memory cluster uses a folder of its own while a stored cluster of the same name runs', async () => {
    onTestFinished(() => rmSync(FOLDER, { recursive: true }))
    expect(chooseAuditFileFolder({ cluster, memory: true }, own), 'there is none').toBe(FOLDER)
    mkdirSync(FOLDER, { recursive: true })
    const lock = await takeLock(FOLDER, 'host', () => new Error('taken'))
    expect(chooseAuditFileFolder({ cluster, memory: true }, own)).toBe(own)
    expect(chooseAuditFileFolder({ cluster, memory: false }, FOLDER)).toBe(FOLDER)
    lock.close()
    expect(chooseAuditFileFolder({ cluster, memory: true }, own), 'it has ended').toBe(FOLDER)
  })

  test('an unlisted cluster has no folder for cluster.json', () => {
    expect(chooseAuditFileFolder({ cluster, memory: true, unlisted: true }, own)).toBeUndefined()
  })
})
