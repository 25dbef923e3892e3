import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { onlyXmlChild, readXml } from '../../../shared/values/xml.ts'

const text = (xml: string) => readXml(xml)?.text

describe('readXml', () => {
  test('readXml returns elements, texts and namespaces', () => {
    expect(readXml('<A xmlns="n">\n <B>x</B><C xmlns="m"><D/></C>\t</A>')).toEqual({
      name: 'A',
      namespace: 'n',
      text: '',
      children: [
        { name: 'B', namespace: 'n', text: 'x', children: [] },
        {
          name: 'C',
          namespace: 'm',
          text: '',
          children: [{ name: 'D', namespace: 'm', text: '', children: [] }],
        },
      ],
    })
  })

  test.each([
    ['&lt;&gt;&amp;&quot;&apos;', `<>&"'`],
    ['&#65;&#x42;&#x1F600;', 'AB😀'],
    ['&#9;&#10;&#13;', '\t\n\r'],
    ['  kept  ', '  kept  '],
    ['&amp;lt;', '&lt;'],
    ['é😀', 'é😀'],
    ['', ''],
  ])('<a>%s</a> is accepted', (inner, expected) => {
    expect(text(`<a>${inner}</a>`)).toBe(expected)
  })

  test.each([
    '&x;',
    '&;',
    '&',
    '&amp',
    '&amp &lt;',
    '&AMP;',
    '&constructor;',
    '&toString;',
    '&__proto__;',
    '&#0;',
    '&#1;',
    '&#x1F;',
    '&#xD800;',
    '&#xFFFE;',
    '&#x110000;',
    '&#99999999;',
    '&#x;',
    '&#;',
    '&#-1;',
    '&# 65;',
    ']]>',
    '\u0000',
    '\u0008',
    '\u000b',
    '\ufffe',
    '\uffff',
    '\ud800',
    '<b>x</b>y',
    '<b>x</b>\u00a0',
    '<!-- x -->',
    '<![CDATA[x]]>',
    '<?x y?>',
    '<b>',
    '</b>',
    '<b></c>',
    '<b c="d"/>',
    "<b xmlns='n'/>",
    '<b xmlns="n" xmlns="m"/>',
    '<b xmlns="n" c="d"/>',
    '<b xmlns:c="n"/>',
    '<c:b/>',
    '<1/>',
    '<b\u00a0/>',
    '< b/>',
    '<b/ >',
  ])('<a>%s</a> is rejected', inner => {
    expect(readXml(`<a>${inner}</a>`)).toBeUndefined()
  })

  test.each([
    '<?xml version="1.0"?><a/>',
    '<?xml version="1.0" encoding="UTF-8"?>\n<a/>',
    "<?xml version='1.0' encoding='utf-8' ?><a/>",
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?><a/>',
    ' <a/> ',
  ])('%s is accepted', xml => {
    expect(readXml(xml)).toBeDefined()
  })

  test.each([
    '',
    'x',
    '<a>',
    '<a/><a/>',
    '<a/>x',
    'x<a/>',
    '<!DOCTYPE a><a/>',
    '<?xml version="1.1"?><a/>',
    '<?xml version="1.0" encoding="UTF-16"?><a/>',
    '<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
    ' <?xml version="1.0"?><a/>',
    '<?xml version="1.0"?><?xml version="1.0"?><a/>',
    '\u{feff}<a/>',
    '<a/>\0',
  ])('%j is rejected', xml => {
    expect(readXml(xml)).toBeUndefined()
  })

  test.each([
    [8, true],
    [9, false],
  ])('%i levels are accepted: %s', (levels, read) => {
    expect(readXml('<a>'.repeat(levels) + '</a>'.repeat(levels)) !== undefined).toBe(read)
  })

  test.each([
    [65_536, true],
    [65_537, false],
  ])('%i characters are accepted: %s', (length, read) => {
    expect(readXml(`<a>${'x'.repeat(length - 7)}</a>`) !== undefined).toBe(read)
  })

  test('every escaped text is restored', () => {
    const between = (min: number, max: number) =>
      fc.integer({ min, max }).map(point => String.fromCodePoint(point))
    const unit = fc.oneof(
      fc.constantFrom('\t', '\n', '\r', '<', '>', '&'),
      between(0x20, 0x7e),
      between(0x7f, 0xd7ff),
      between(0xe000, 0xfffd),
      between(0x10000, 0x10ffff),
    )
    const legal = fc.string({ unit })
    const escaped = (plain: string) => plain.replace(/[<>&]/g, char => `&#${char.codePointAt(0)};`)
    fc.assert(
      fc.property(legal, plain => {
        expect(text(`<a>${escaped(plain)}</a>`)).toBe(plain)
      }),
    )
  })

  test('readXml never throws', () => {
    const pieces = fc.constantFrom(
      '<a>',
      '</a>',
      '<a/>',
      '<!--',
      '-->',
      '&',
      ';',
      '#x',
      'amp',
      '<![CDATA[',
      ']]>',
      ' xmlns="',
      '"',
      ' ',
      '\0',
    )
    fc.assert(fc.property(fc.array(pieces), list => void readXml(list.join(''))))
  })
})

describe('onlyXmlChild', () => {
  const parent = (inner: string) => readXml(`<a xmlns="n">${inner}</a>`) ?? expect.fail()
  test.each([
    ['one child', '<b>x</b><c/>', 'x'],
    ['none', '<c/>', undefined],
    ['two', '<b>x</b><b>y</b>', undefined],
    ['one in another namespace', '<b xmlns="m">x</b>', undefined],
    ['one in another namespace beside it', '<b xmlns="m">x</b><b>y</b>', undefined],
    ['one that names the same namespace again', '<b xmlns="n">x</b>', 'x'],
    ['a grandchild', '<c><b>x</b></c>', undefined],
  ])('%s', (_, inner, expected) => {
    expect(onlyXmlChild(parent(inner), 'b')?.text).toBe(expected)
  })
})
