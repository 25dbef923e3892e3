import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { updateBuildIfOutdated } from '../../../../../infra/local/template/up-to-date.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-up-to-date-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const place = `${folder}/made`
beforeEach(() => {
  for (const name of readdirSync(folder)) rmSync(`${folder}/${name}`, { recursive: true })
})

const content = () => readFileSync(`${place}/content`, 'utf8')
const writing = (text: string) => async (directory: string) => writeFileSync(`${directory}/content`, text)

test('a build directory is kept for the same sources, and replaced as a whole for changed sources', async () => {
  expect(await updateBuildIfOutdated(place, 'first', writing('one'))).toBe(place)
  writeFileSync(`${place}/stale`, '')
  await updateBuildIfOutdated(place, 'first', writing('never'))
  expect(content()).toBe('one')
  await updateBuildIfOutdated(place, 'second', writing('two'))
  expect(content()).toBe('two')
  expect(existsSync(`${place}/stale`)).toBe(false)
})

test('a failed build keeps the old directory, and the next build replaces the old directory', async () => {
  await updateBuildIfOutdated(place, 'first', writing('one'))
  const broken = updateBuildIfOutdated(place, 'second', async directory => {
    await writing('half')(directory)
    throw new Error('stopped')
  })
  await expect(broken).rejects.toThrow('stopped')
  expect(content()).toBe('one')
  expect(readdirSync(folder)).toEqual(['made'])
  await updateBuildIfOutdated(place, 'second', writing('two'))
  expect(content()).toBe('two')
})

test('a build directory that another process made from the same sources meanwhile is kept', async () => {
  await updateBuildIfOutdated(place, 'second', async directory => {
    await writing('mine')(directory)
    await updateBuildIfOutdated(place, 'second', writing('theirs'))
  })
  expect(content()).toBe('theirs')
  expect(readdirSync(folder)).toEqual(['made'])
})

test('a build directory that another process made from different sources meanwhile is replaced', async () => {
  await updateBuildIfOutdated(place, 'second', async directory => {
    await writing('mine')(directory)
    await updateBuildIfOutdated(place, 'first', writing('theirs'))
  })
  expect(content()).toBe('mine')
})
