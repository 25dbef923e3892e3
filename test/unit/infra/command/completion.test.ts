import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { createCompletion } from '../../../../infra/command/completion.ts'
import { type CommandName, commandRows, optionsOfCommand } from '../../../../infra/command/options.ts'

const folder = mkdtempSync(`${tmpdir()}/completion-`)
afterAll(() => rmSync(folder, { recursive: true }))

/** Returns the completions that a real bash offers at the end of a command line. */
function completedByBash(...words: string[]): string[] {
  const script = `eval "$SCRIPT"
COMP_WORDS=(cloud-auth "$@"); COMP_CWORD=$#
_cloud_auth
printf '%s\\n' "\${COMPREPLY[@]}"
complete -p cloud-auth >&2`
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], SCRIPT: createCompletion(['bash']) },
  })
  expect(stderr).toBe('complete -o bashdefault -o default -F _cloud_auth cloud-auth\n')
  return stdout.split('\n').filter(Boolean)
}

describe('the completion in bash', () => {
  test.each([
    [['']],
    [['lo'], ['login', 'lookup']],
    [['login', '--me'], ['--method']],
    [
      ['login', '--method', ''],
      ['iam', 'ec2', 'jwt'],
    ],
    [['login', '--role', 'x', '--document', 'p'], ['pkcs7']],
    [['explain', '--login', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['status', '--role'], []],
    [['nonsense', ''], []],
  ] as [string[], string[]?][])('%j', (words, expected = Object.keys(commandRows)) =>
    expect(completedByBash(...words)).toEqual(expected),
  )

  test.each(Object.keys(commandRows) as CommandName[])('%s offers exactly its own options', command =>
    expect(completedByBash(command, '--')).toEqual(optionsOfCommand(command).map(([name]) => `--${name}`)),
  )
})

test.each(['bash', 'zsh', 'fish'])('the script for %s names each command and each option', shell => {
  const script = createCompletion([shell])
  for (const command of Object.keys(commandRows) as CommandName[]) {
    expect(script).toContain(command)
    for (const [name] of optionsOfCommand(command))
      expect(script).toContain(shell === 'fish' ? `-l ${name} ` : `--${name}`)
  }
})

/** Reports whether a shell is installed. Bash always is, because the project's own scripts need bash. */
const isInstalled = (shell: string) => spawnSync(shell, ['--version']).error === undefined
test.each(['bash', 'zsh', 'fish'].filter(isInstalled))('%s reads its script without an error', shell => {
  const file = `${folder}/script`
  writeFileSync(file, createCompletion([shell]))
  execFileSync(shell, ['-n', file])
})

test.each([[[]], [['csh']], [['bash', 'zsh']], [['toString']]])('completion %j is refused', words =>
  expect(() => createCompletion(words)).toThrow('bash, zsh, fish'),
)
