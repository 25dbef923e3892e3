import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import {
  createTerminalWriter,
  escapeForTerminal,
  escapeToOneLine,
  paintLines,
  usesColours,
} from '../../../../infra/command/output.ts'

describe('escaping texts for a terminal', () => {
  test.each([
    ['\x1b[31mred\x1b]0;title\x07', '\\u001b[31mred\\u001b]0;title\\u0007'],
    ['a\rb\x08\x7f', 'a\\u000db\\u0008\\u007f'],
    ['\x9b2J', '\\u009b2J'],
    ['\u202egpj\u2066\u200b\ufeff\u2028', '\\u202egpj\\u2066\\u200b\\ufeff\\u2028'],
    ['\u{e0041}', '\\udb40\\udc41'],
    ['\ud800', '\\ud800'],
    ['två\tlines\n✓ 東', 'två\tlines\n✓ 東'],
  ])('the text %j is written as %j', (text, written) => expect(escapeForTerminal(text)).toBe(written))

  test('escaped JSON keeps its meaning', () => {
    const value = { text: '\x1b\x9b\u202e\u{e0041}\x7f\n' }
    expect(JSON.parse(escapeForTerminal(JSON.stringify(value)))).toEqual(value)
  })

  test('escaping removes line breaks from a text within a line', () =>
    expect(escapeToOneLine(' no\r\nSwitched.\t\x1b ')).toBe('no Switched. \\u001b'))

  test('the writer escapes what it prints', () => {
    const stream = new PassThrough()
    createTerminalWriter(stream)('\x1b[2J\n')
    expect(String(stream.read())).toBe('\\u001b[2J\n')
  })

  test.each([
    [true, '\x1b[32ma\\u001b\x1b[0m b'],
    [false, 'a\\u001b b'],
  ])('the writer colours parts of a text only on request: %s', (isColoured, written) => {
    const stream = new PassThrough()
    createTerminalWriter(stream, isColoured)([{ tone: 'good', text: 'a\x1b' }, ' b'])
    expect(String(stream.read())).toBe(written)
  })

  test('lines that begin with a mark are coloured, and the text stays the same', () =>
    expect(paintLines('a\n! b\n! c', { '! ': 'bad' })).toEqual([
      'a\n',
      { text: '! b\n', tone: 'bad' },
      { text: '! c', tone: 'bad' },
    ]))

  test.each<[object, Record<string, string>, boolean]>([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { TERM: 'dumb' }, false],
    [{}, {}, false],
  ])('the stream %j with %j shows colours: %s', (stream, environment, shows) =>
    expect(usesColours(stream, environment)).toBe(shows),
  )
})
