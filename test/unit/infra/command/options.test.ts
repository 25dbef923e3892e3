import { describe, expect, test } from 'vitest'
import type { CommandEnded } from '../../../../infra/command/ended.ts'
import { parseCommandLine } from '../../../../infra/command/options.ts'

const read = (line: string, environment = {}) =>
  parseCommandLine(line.split(' ').filter(Boolean), environment)

describe('a command line of cloud-auth', () => {
  test('a command line is parsed to command, options and words', () => {
    expect(read('switch --yes east west')).toEqual({
      command: 'switch',
      flags: new Set(['yes']),
      values: {},
      words: ['east', 'west'],
    })
    expect(read('login --role=app --mount aws')).toMatchObject({ values: { role: 'app', mount: 'aws' } })
  })

  test.each([
    ['an option', 'login --address http://o', { BAO_ADDR: 'http://b', VAULT_ADDR: 'http://v' }, 'http://o'],
    ['OpenBao’s variable', 'login', { BAO_ADDR: 'http://b', VAULT_ADDR: 'http://v' }, 'http://b'],
    ['Vault’s variable', 'login', { BAO_ADDR: '', VAULT_ADDR: 'http://v' }, 'http://v'],
    ['nothing', 'login', {}, undefined],
  ])('the address is read from the variable %s first', (_, line, environment, address) => {
    expect(read(line, environment)).toMatchObject({ values: address ? { address } : {} })
  })

  test.each(['get', 'store', 'erase'])(
    'a command line may be a bare %s, as vault and bao call a token helper',
    word => {
      expect(read(word, { CLOUD_AUTH_ROLE: 'app' })).toMatchObject({
        command: 'token-helper',
        words: [word],
        values: { role: 'app' },
      })
    },
  )

  test.each([
    ['frobnicate', 'unknown command "frobnicate"'],
    ['login --nonsense', "Unknown option '--nonsense'"],
    ['status --yes', "Unknown option '--yes'"],
    ['switch --token hvs.x east west', "Unknown option '--token'"],
    ['constructor', 'unknown command "constructor"'],
  ])('the command line %s is rejected', (line, text) => {
    expect(() => read(line)).toThrow(
      expect.objectContaining({ exit: 'usage', message: text }) as CommandEnded,
    )
  })

  test.each(['', 'help', '--help', '-h'])('the command line %j prints all commands', line => {
    expect(read(line)).toMatch(/login[\s\S]*token-helper[\s\S]*status[\s\S]*switch/)
  })

  test("the help of a command has the command's own options with their variables, and no other options", () => {
    const help = read('login --help')
    expect(help).toMatch(/--role NAME .*\[CLOUD_AUTH_ROLE\]/)
    expect(help).not.toContain('--watch')
  })
})
