import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  createProveJournal,
  journalFolder,
  journalPath,
  listJournaledRuns,
  parseProveJournal,
  reopenProveJournal,
} from '../../../../../infra/command/prove/journal.ts'

const run = { run: '0a1b2c3d', region: 'eu-west-1', account: '111122223333', pid: 4711 }
let home: string
let folder: string
beforeEach(() => {
  home = mkdtempSync(`${tmpdir()}/prove-`)
  folder = `${home}/state`
})
afterEach(() => rmSync(home, { recursive: true }))
const path = () => journalPath(folder, run.run)

describe('the journal of a run', () => {
  test('names stacks in the order of their creation, without the removed ones', () => {
    const journal = createProveJournal(folder, run)
    for (const part of ['assets', 'data', 'api'] as const) journal.makes(part)
    journal.removed('api')
    journal.close()
    expect(reopenProveJournal(folder, run.run).state).toEqual({ ...run, remaining: ['assets', 'data'] })
    expect(listJournaledRuns(folder)).toEqual([run.run])
  })

  test('names the namespace and the stack of a run with an EKS cluster, and of no other run', () => {
    const eks = { ...run, eksCluster: 'shop-1' }
    const journal = createProveJournal(folder, eks)
    journal.makes('pod')
    journal.makes('namespace')
    journal.close()
    expect(reopenProveJournal(folder, run.run).state).toEqual({ ...eks, remaining: ['pod', 'namespace'] })
    const [, ...lines] = readFileSync(path(), 'utf8').split('\n')
    expect(lines[1]).toBe('{"makes":"cloud-auth-prove-0a1b2c3d"}')
    for (const other of [run, { ...run, eksCluster: 'a/b' }])
      expect(parseProveJournal([JSON.stringify(other), ...lines].join('\n'))).toBeUndefined()
  })

  test('is on disk before `makes` returns, and only its user can read it', () => {
    const journal = createProveJournal(folder, run)
    journal.makes('assets')
    expect(readFileSync(path(), 'utf8').split('\n')[1]).toBe('{"makes":"cloud-auth-prove-0a1b2c3d-assets"}')
    expect([statSync(path()).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700])
    journal.close()
  })

  test('can be continued after a crash in the middle of a line', () => {
    createProveJournal(folder, run).makes('assets')
    appendFileSync(path(), '{"makes":"cloud-auth-pro')
    const { state, journal } = reopenProveJournal(folder, run.run)
    expect(state.remaining).toEqual(['assets'])
    journal.removed('assets')
    expect(parseProveJournal(readFileSync(path(), 'utf8'))?.remaining).toEqual([])
    journal.end()
    expect(existsSync(path())).toBe(false)
  })

  test('is not created over an existing one', () => {
    createProveJournal(folder, run)
    expect(() => createProveJournal(folder, run)).toThrow('(EEXIST). Nothing was made')
  })

  test('is refused when others can read it', () => {
    createProveJournal(folder, run)
    chmodSync(path(), 0o640)
    expect(() => reopenProveJournal(folder, run.run)).toThrow('others can read it')
  })

  test('is refused when it belongs to another run', () => {
    createProveJournal(folder, run)
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('0a1b2c3d', '00000000'))
    expect(() => reopenProveJournal(folder, run.run)).toThrow('is not the journal of this run')
  })

  test.each([
    ['the name of a foreign stack', '{"makes":"production"}'],
    ['the name of a stack of another run', '{"makes":"cloud-auth-prove-ffffffff-data"}'],
    ['an unknown line', '{"deletes":"cloud-auth-prove-0a1b2c3d-data"}'],
    ['no JSON', 'makes data'],
  ])('is refused with %s', (_, line) => {
    const whole = `${JSON.stringify(run)}\n{"makes":"cloud-auth-prove-0a1b2c3d-data"}\n`
    expect(parseProveJournal(whole)?.remaining).toEqual(['data'])
    expect(parseProveJournal(`${whole}${line}\n`)).toBeUndefined()
  })

  test.each([
    [{ run: '../../etc' }],
    [{ region: 'eu-west-1.example.com' }],
    [{ account: '1' }],
    [{ pid: -1 }],
  ])('is refused with the first line %j', wrong => {
    expect(parseProveJournal(`${JSON.stringify({ ...run, ...wrong })}\n`)).toBeUndefined()
  })

  test('is in the folder for state', () => {
    expect(journalFolder({ HOME: '/home/me' })).toBe('/home/me/.local/state/cloud-auth')
    expect(journalFolder({ HOME: '/home/me', XDG_STATE_HOME: '/state' })).toBe('/state/cloud-auth')
    expect(() => journalFolder({ HOME: 'here' })).toThrow('an absolute path')
  })
})
