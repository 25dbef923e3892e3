import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { readTree } from '../../../../infra/release/tree.ts'

let folder = ''
const note = () => `${folder}/.build/ci-green`
const path = () => `${folder}/programs:${process.env['PATH']}`

const git = (...words: string[]): void => {
  const settings = ['-c', 'user.name=test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false']
  execFileSync('git', [...settings, ...words], { cwd: folder, stdio: 'ignore' })
}

/** Writes a program that replaces a program of CI. */
function stub(name: string, line = 'exit 0'): void {
  writeFileSync(`${folder}/programs/${name}`, `#!/bin/sh\n${line}\n`)
  chmodSync(`${folder}/programs/${name}`, 0o755)
}

const runCi = () => spawnSync('bash', ['.ci/run'], { cwd: folder, env: { PATH: path() } }).status

/** Creates a repository with CI's script and replaced programs. */
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/green-`)
  for (const name of ['.ci', 'programs']) mkdirSync(`${folder}/${name}`)
  cpSync(`${checkoutRoot}.ci/run`, `${folder}/.ci/run`)
  writeFileSync(`${folder}/.gitignore`, '.build\nprograms\n')
  for (const name of [
    'npm',
    'curl',
    'jq',
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
  ])
    stub(name)
  git('init', '--quiet')
  git('add', '--all')
  git('commit', '--quiet', '--message', 'first')
})
afterEach(() => rmSync(folder, { recursive: true }))

describe("CI's run", () => {
  test('notes the tree when every step succeeds', () => {
    expect(runCi()).toBe(0)
    expect(readFileSync(note(), 'utf8').trim()).toBe(readTree(folder).tree)
  })

  test('removes the note of an earlier run when a step fails', () => {
    runCi()
    stub('npm', '[ "$*" != "run synth" ]')
    expect(runCi()).not.toBe(0)
    expect(existsSync(note())).toBe(false)
  })

  test.each([
    ['untracked files', () => writeFileSync(`${folder}/new`, '')],
    ['changed files', () => writeFileSync(`${folder}/.gitignore`, '.build\nprograms\n# changed\n')],
    ['files that a step changes', () => stub('npm', 'echo > made-by-a-step')],
    ['a folder without git', () => rmSync(`${folder}/.git`, { recursive: true })],
  ])('notes nothing with %s', (_, change) => {
    change()
    expect(runCi()).toBe(0)
    expect(existsSync(note())).toBe(false)
  })
})

describe('the state of a checkout', () => {
  test('names the commit, its tree, changed and untracked files, and the tags', () => {
    git('tag', 'v1.0.0')
    mkdirSync(`${folder}/sub`)
    writeFileSync(`${folder}/sub/new`, '')
    const { commit, tree, changes, tags } = readTree(folder)
    expect([commit, tree]).toEqual([
      expect.stringMatching(/^[0-9a-f]{40}$/),
      expect.stringMatching(/^[0-9a-f]{40}$/),
    ])
    expect([changes, tags]).toEqual([['sub/new'], ['v1.0.0']])
  })

  test("does not follow the user's configuration, which can hide files", () => {
    writeFileSync(`${folder}/new`, '')
    writeFileSync(`${folder}/programs/ignored`, 'new\n')
    writeFileSync(`${folder}/programs/gitconfig`, `[core]\n\texcludesFile = ${folder}/programs/ignored\n`)
    process.env['GIT_CONFIG_GLOBAL'] = `${folder}/programs/gitconfig`
    try {
      expect(readTree(folder).changes).toEqual(['new'])
    } finally {
      delete process.env['GIT_CONFIG_GLOBAL']
    }
  })
})
