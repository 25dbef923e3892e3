import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  keptPath,
  readKeptRun,
  removeKeptRun,
  writeKeptRun,
} from '../../../../../infra/command/prove/keep.ts'

const KEPT = { run: '0a1b2c3d', root: 'the-root-token', release: '1.0.0', started: 1_700_000_000_000 }
let folder: string
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/keep-`)
})
afterEach(() => rmSync(folder, { recursive: true }))

const path = () => keptPath(folder, KEPT.run)
const read = () => readKeptRun(folder, KEPT.run)

describe('the file of a kept run', () => {
  test('is for its owner alone, and is read back', () => {
    writeKeptRun(folder, KEPT)
    expect(statSync(path()).mode & 0o777).toBe(0o600)
    expect(read()).toEqual(KEPT)
  })

  test('is not written over an existing file or link', () => {
    symlinkSync('/dev/null', path())
    expect(() => writeKeptRun(folder, KEPT)).toThrow('cannot be created (EEXIST)')
  })

  test.each([0o640, 0o604, 0o666])('is refused with the mode %o', mode => {
    writeKeptRun(folder, KEPT)
    chmodSync(path(), mode)
    expect(read).toThrow('others can read it')
  })

  test.each([
    '',
    '{}',
    '[]',
    JSON.stringify({ ...KEPT, run: '00000000' }),
    JSON.stringify({ ...KEPT, root: 1 }),
    JSON.stringify({ ...KEPT, started: 'x' }),
  ])('is refused with the text %j', text => {
    writeFileSync(path(), text, { mode: 0o600 })
    expect(read).toThrow('is malformed')
  })

  test('is missing for a run without --keep, and after its removal', () => {
    writeKeptRun(folder, KEPT)
    removeKeptRun(folder, KEPT.run)
    removeKeptRun(folder, KEPT.run)
    expect(read).toThrow('cannot be opened (ENOENT). Only runs with --keep have this file')
  })
})
