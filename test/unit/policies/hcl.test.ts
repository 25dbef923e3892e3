import { parse } from '@cdktf/hcl2json'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type HclBody, HclSyntaxError, parseHcl } from '../../../shared/policies/hcl.ts'

/** Converts our result to the form of the other parser: labelled blocks by label, other blocks in a list. */
function shaped({ attributes, blocks }: HclBody): Record<string, unknown> {
  const shape: Record<string, unknown> = { ...attributes }
  for (const { type, label, body } of blocks) {
    const holder = label === undefined ? shape : ((shape[type] ?? {}) as Record<string, unknown>)
    const place = label ?? type
    holder[place] = [...((holder[place] as unknown[]) ?? []), shaped(body)]
    if (label !== undefined) shape[type] = holder
  }
  return shape
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("the HCL parser agrees with HashiCorp's", () => {
  test.each([
    ['comments of all styles', '# one\n// two\n/* three\n * four */ a = 1 # five\n'],
    ['escapes', 'a = "\\"\\\\\\n\\r\\t\\u00e9\\U0001F600é"\n'],
    ['numbers', 'a = [0, -1, 1.50, 2e3, 2.5E-1, 9007199254740991]\n'],
    ['booleans', 'a = true\nb = false\n'],
    ['a comma after the last item', 'a = [1, 2,]\nb = { c = 1, d = 2, }\n'],
    ['objects by lines, by commas, with colons', 'a = {\n b = 1\n "c" = 2\n}\nd = {e: 1, f: {}}\n'],
    ['a here-document', 'a = <<EOT\n one\n\n  two\nEOT\nb = 1\n'],
    ['an empty here-document', 'a = <<EOT\nEOT\n'],
    ['an indented here-document', 'a = <<-EOT\n    one\n  \n\n   two\n\t\n  EOT\n'],
    ['a here-document indented by tabs', 'a = <<-EOT\n\tone\n\t\ttwo\n\tEOT\n'],
    ['a here-document with CRLF', 'a = <<EOT\r\none\r\nEOT\r\n'],
    ['here-documents in a list', 'a = [<<A\nx\nA\n, <<B\ny\nB\n]\n'],
    ['blocks with labels', 'path "a/*" {\n  capabilities = ["read"]\n}\npath "a/*" { capabilities = [] }\n'],
    ['blocks in blocks', 'path "a" {\n  allowed_parameters {\n    b = []\n  }\n}\n'],
    ['CRLF between lines', 'a = 1\r\nb = [\r\n1\r\n,\r\n2\r\n]\r\n'],
  ])('%s', async (_, text) => {
    expect(shaped(parseHcl(text))).toEqual(plain(await parse('policy.hcl', text)))
  })

  test('any document that both writers can express is parsed to the same policy', async () => {
    await fc.assert(
      fc.asyncProperty(document, async text => {
        expect(plain(shaped(parseHcl(text)))).toEqual(plain(await parse('policy.hcl', text)))
      }),
      { numRuns: 75 },
    )
  })
})

describe("documents that HashiCorp's HCL parser accepts too loosely or not at all", () => {
  test.each([
    ['the older language puts several arguments on a line', 'a = 1 b = 2', { a: 1, b: 2 }],
    ['the older language quotes names', '"a" = 1', { a: 1 }],
    ['a dollar sign has no meaning', 'a = "$\\u007bb}"', { a: '$\u007bb}' }],
    [
      'names of prototypes are names',
      '__proto__ = 1 constructor = 2',
      JSON.parse('{"__proto__":1,"constructor":2}'),
    ],
  ])('%s', (_, text, expected) => {
    expect(Object.entries(parseHcl(text).attributes)).toEqual(Object.entries(expected))
  })

  test.each([
    ['a key given twice', 'a = 1\na = 1', 'line 2: an argument is given twice'],
    ['a key given twice in an object', 'a = { "b" = 1, b = 2 }', 'line 1: an argument is given twice'],
    ['an integer that would be rounded', 'a = 9007199254740993', 'line 1: a number cannot be kept exactly'],
    ['a number beyond all doubles', 'a = 1e999', 'line 1: a number cannot be kept exactly'],
    ['null', 'a = null', 'line 1: expected a value'],
    ['an expression', 'a = 1 + 1', 'line 1: expected a name'],
    ['half of a surrogate pair', 'a = "\\ud83d"', 'line 1: unknown escape'],
    ['a code point beyond Unicode', 'a = "\\U00110000"', 'line 1: unknown escape'],
    ['an unknown escape', 'a = "\\x"', 'line 1: unknown escape'],
    ['a string over two lines', 'a = "x\ny"', 'line 1: a string is not closed'],
    ['a string that only an escape ends', 'a = "\\"', 'line 1: a string is not closed'],
    ['a list without commas', 'a = [1 2]', 'line 1: expected "," or "]"'],
    ['a list that is not closed', '\n\na = [1,', 'line 3: expected a value'],
    ['an object without separator', 'a = { b = 1 c = 2 }', 'line 1: expected "," or "}"'],
    ['a block that is not closed', 'path "a" {\n', 'line 2: a block is not closed'],
    ['a brace too many', 'path "a" {}\n}', 'line 2: unexpected character'],
    ['a second label', 'path "a" "b" {}', 'line 1: expected "=" or "{"'],
    ['a comment that is not closed', '/* a = 1', 'line 1: expected a name'],
    ['a here-document that is not closed', 'a = <<EOT\nx\nEOTx\n', 'line 4: a here-document is not closed'],
    ['a here-document without marker', 'a = <<\nx\n', 'line 1: expected a value'],
  ])('%s is rejected', (_, text, message) => {
    expect(() => parseHcl(text)).toThrow(new HclSyntaxError(message))
  })
})

describe('malicious texts of a megabyte', () => {
  const megabyte = (part: string) => part.repeat(Math.floor(2 ** 20 / part.length))

  test.each([
    ['lines of an indented here-document', `a = <<-A\n${megabyte(' x\n')}A\n`],
    ['blank lines of an indented here-document', `a = <<-A\n${megabyte('\n')}A\n`],
    ['comments', megabyte('/**/#\n//\n')],
    ['white space', megabyte(' \n')],
    ['items', `a = [${megabyte('1,')}]`],
    ['escapes', `a = "${megabyte('\\n')}"`],
    ['blocks', megabyte('a {}\n')],
    ['a marker', `a = <<${megabyte('A')}\n`],
    ['here-documents without end', megabyte('a = <<A\n')],
    ['stars after an opened comment', `/*${megabyte('*')}`],
    ['digits', `a = ${megabyte('1')}`],
    ['lists', `a = ${megabyte('[')}`],
    ['objects', `a = ${megabyte('{a=')}`],
    ['nested blocks', megabyte('a {')],
    ['quotes', megabyte('"')],
  ])('parsing or rejecting %s never crashes', (_, text) => {
    try {
      parseHcl(text)
    } catch (error) {
      expect(error).toBeInstanceOf(HclSyntaxError)
    }
  })

  test('any text is parsed or rejected', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]=,:"\\<-#/* \n1ea.$\u0000') }), text => {
        try {
          parseHcl(text)
        } catch (error) {
          expect(error).toBeInstanceOf(HclSyntaxError)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

// documents in all styles that both parsers support

const space = fc.constantFrom(' ', '  ', '\t', ' /* c */ ')
const newLine = fc.constantFrom('\n', ' # c\n', '\n\n', '\r\n', ' // c\n /* c */\n')
const name = fc.constantFrom('a', 'b_c', 'd-1', '_x', 'capabilities', 'max_wrapping_ttl')

const quoted = fc
  .string({
    unit: fc.oneof(fc.constantFrom(...'aZ/*+ é😀{}#'), fc.constantFrom('\\"', '\\\\', '\\n', '\\u0041')),
  })
  .map(text => `"${text}"`)

const heredoc = fc
  .tuple(
    fc.constantFrom('<<', '<<-'),
    fc.array(fc.constantFrom('', ' ', '  x', ' y z', 'w', '\tv'), { maxLength: 5 }),
  )
  .map(([open, lines]) => `${open}END\n${[...lines, ' END'].join('\n')}\n`)

const scalar = fc.oneof(quoted, fc.integer().map(String), fc.constantFrom('true', 'false', '0.25', '-1.5e2'))

const { value } = fc.letrec<{ value: string }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc
      .tuple(fc.array(tie('value'), { maxLength: 3 }), space)
      .map(([items, gap]) => `[${gap}${items.join(`,${gap}`)}]`),
    fc
      .tuple(
        fc.uniqueArray(name, { maxLength: 3 }),
        fc.array(tie('value'), { minLength: 3, maxLength: 3 }),
        space,
      )
      .map(
        ([names, values, gap]) =>
          `{${gap}${names.map((one, index) => `${one}${gap}=${values[index]}`).join(',')}}`,
      ),
  ),
}))

const attribute = (one: string) =>
  fc
    .tuple(
      space,
      fc.oneof(
        value.map(text => `${text}\n`),
        heredoc,
      ),
    )
    .map(([gap, text]) => `${one}${gap}=${gap}${text}`)

const body = fc
  .uniqueArray(name, { maxLength: 4 })
  .chain(names => fc.tuple(...names.map(attribute)))
  .map(lines => lines.join(''))

const block = fc
  .tuple(fc.constantFrom('path "a/*"', 'path "b"', 'nested'), space, newLine, body)
  .map(([head, gap, line, text]) => `${head}${gap}{${line}${text}}\n`)

const document = fc
  .tuple(body, fc.array(fc.tuple(newLine, block), { maxLength: 4 }))
  .map(([first, blocks]) => first + blocks.flat().join(''))
