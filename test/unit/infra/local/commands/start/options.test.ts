import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkoutRoot } from '../../../../../../infra/checkout.ts'
import {
  readStartOptions,
  START_HELP_TEXT,
  StartUsageError,
} from '../../../../../../infra/local/commands/start/options.ts'
import { createLocalAuthority } from '../../../../../../infra/local/gateway/tls.ts'
import { blocksOf } from '../../../../../support/programs/pages.ts'

const read = (line: string, environment: Record<string, string> = {}) =>
  readStartOptions(line === '' ? [] : line.split(' '), environment)

/** Returns the error line that a command line causes. */
function refusal(line: string, environment: Record<string, string> = {}): string {
  try {
    read(line, environment)
  } catch (error) {
    expect(error).toBeInstanceOf(StartUsageError)
    return (error as Error).message
  }
  throw new Error(`accepted: ${line}`)
}

describe('a command line of npm start', () => {
  test('the command line is parsed, and missing options are absent', () => {
    expect(read('')).toEqual({})
    expect(read('--cluster west --port 0 --link-port 9000 --aws east --region us-gov-west-1 --once')).toEqual(
      { cluster: 'west', port: 0, 'link-port': 9000, aws: 'east', region: 'us-gov-west-1', once: true },
    )
    expect(read('--pair --port 9000 --memory')).toEqual({ pair: true, port: 9000, memory: true })
    expect(read('--provider http://127.0.0.1:4566/')).toEqual({ provider: 'http://127.0.0.1:4566' })
  })

  test.each([
    ['forgotten', "'forgotten' is not an option; see npm start -- --help"],
    ['--memory --', 'a second -- has no effect; leave it out (see npm start -- --help)'],
    ['--nonsense', "Unknown option '--nonsense': see npm start -- --help"],
    ['--port', "Option '--port <value>' argument missing: see npm start -- --help"],
    ['--pair --cluster x', '--pair and --cluster cannot be used together: a pair has fixed names and ports'],
    ['--pair --region us-east-1', '--pair and --region cannot be used together'],
    ['--pair --provider http://x', '--pair and --provider cannot be used together'],
    ['--pair --link-port 1', '--pair and --link-port cannot be used together'],
    ['--provider http://x --provider-port 1', '--provider and --provider-port cannot be used together'],
    ['--port eight', '--port must be a number from 0 (any free port) to 65535'],
    ['--link-port 65536', '--link-port must be a number'],
    ['--metadata-port=', '--metadata-port must be a number'],
    ['--provider nonsense', '--provider must be a URL such as http://127.0.0.1:4566'],
    ['--region here', '--region must be a region such as us-east-1'],
    ['--cluster ../elsewhere', '--cluster: a cluster name has'],
    ['--ca-bundles ./none', '--ca-bundles: there is no directory ./none'],
  ])('the command line %s is rejected in one line that names the option', (line, expected) => {
    expect(refusal(line)).toContain(expected)
    expect(refusal(line)).not.toContain('\n')
  })

  test('the error for a file that is not a certificate names the option of that file', () => {
    const folder = mkdtempSync(`${tmpdir()}/options-`)
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(`${folder}/notes.txt`, 'no certificate')
    expect(refusal(`--ca-bundles ${folder}`)).toMatch(
      /^--ca-bundles: .*notes\.txt must contain PEM certificates/,
    )
  })

  test('options that npm took because -- is missing are reported with the right command line', () => {
    expect(refusal('', { npm_config_pair: 'true' })).toBe(
      'npm took --pair as its own option. Use npm start -- --pair',
    )
    expect(refusal('9000', { npm_config_link_port: 'true', npm_config_memory: 'true' })).toBe(
      'npm took --link-port --memory as its own option. Use npm start -- --link-port --memory 9000',
    )
    expect(read('--once', { npm_config_loglevel: 'silent' })).toEqual({ once: true })
  })

  /** A value for each placeholder of the help. */
  const GIVEN: Record<string, string> = {
    NAME: 'west',
    N: '9000',
    URL: 'http://127.0.0.1:4566',
    REGION: 'us-west-2',
    DIR: mkdtempSync(`${tmpdir()}/options-`),
  }
  writeFileSync(`${GIVEN['DIR']}/own.pem`, createLocalAuthority('own').cert)
  afterAll(() => rmSync(GIVEN['DIR'] ?? '', { recursive: true }))

  const told = [...START_HELP_TEXT.matchAll(/^ {2}--([\w-]+)(?: ([A-Z]+))? +\S/gm)].map(
    ([, name = '', value = '']) => ({
      name,
      value,
    }),
  )

  test.each(told)('--$name $value of the help is accepted as the help describes', ({ name, value }) => {
    const asked = read(value ? `--${name} ${GIVEN[value]}` : `--${name}`)
    expect(asked).toEqual({ [name]: value ? expect.anything() : true })
    expect(refusal(value ? `--${name}` : `--${name}=x`)).toContain(name)
  })

  test('each option of the help is known to the parser', () => {
    const command = readFileSync(`${checkoutRoot}infra/local/commands/start/command.ts`, 'utf8')
    const isRead = (name: string): boolean =>
      command.includes(`asked.${name}`) ||
      command.includes(`asked['${name}']`) ||
      new RegExp(`\\{[^}]*\\b${name}\\b[^}]*\\} = asked`).test(command)
    expect(told.filter(({ name }) => !isRead(name))).toEqual([])
  })

  test('every npm start command line of the pages is accepted', () => {
    const pages = [
      'README.md',
      ...readdirSync(`${checkoutRoot}docs`, { recursive: true, encoding: 'utf8' }).map(
        name => `docs/${name}`,
      ),
    ]
    const lines = pages
      .filter(path => path.endsWith('.md'))
      .flatMap(path => [
        ...readFileSync(checkoutRoot + path, 'utf8').matchAll(/npm start --((?: [^\s`#]+)+)/g),
      ])
      .map(([, line = '']) => line.trim())
    expect(lines.length).toBeGreaterThan(8)
    for (const line of lines) expect(() => read(line), line).not.toThrow()
  })

  test('the first blocks of the set-up page start two hosts with one imitated AWS', () => {
    const asked = blocksOf('set-up', 'On a laptop').map(block => read(block.replace('npm start -- ', '')))
    expect(asked).toEqual([
      { cluster: 'east', port: 8200 },
      { cluster: 'west', port: 8201, region: 'us-west-2', aws: 'east' },
    ])
  })
})
