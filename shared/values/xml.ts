/** An XML element. An XML element has either text or children, never both. */
export interface XmlElement {
  name: string
  /** namespace from `xmlns`, the only accepted attribute, of the element or its nearest ancestor */
  namespace: string
  children: XmlElement[]
  text: string
}

/** Maximum characters of a text and levels of elements. */
const LIMITS = { longest: 65_536, deepest: 8 }
const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
])
/** The characters of XML 1.0, without control characters and surrogates. */
const LEGAL = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u
const SPACE = ' \t\n\r'
const PROLOG =
  /^<\?xml version=(?:"1\.0"|'1\.0')(?: encoding=(?:"UTF-8"|'UTF-8'|"utf-8"|'utf-8'))?(?: standalone=(?:"yes"|"no"))?[ \t\n\r]*\?>/
const OPEN = /<([A-Za-z][\w.-]*)(?:[ \t\n\r]+xmlns="([^"<&]*)")?[ \t\n\r]*(\/?)>/y
const CLOSE = /<\/([A-Za-z][\w.-]*)[ \t\n\r]*>/y
const TEXT = /[^<]+/y

/**
 * Parses the simple XML of AWS query services. The parser rejects all other XML: document types, comments, CDATA,
 * processing instructions, prefixes, attributes other than `xmlns`, entities other than the five predefined ones
 * and character references, text next to elements, illegal characters, and anything but white space around the root
 * element.
 *
 * @returns the root element, or undefined
 * @see docs/spec/login-iam.md#answer-of-sts
 */
export function readXml(text: string): XmlElement | undefined {
  if (text.length > LIMITS.longest || !LEGAL.test(text)) return undefined
  const prolog = PROLOG.exec(text)
  const body = text.slice(prolog?.[0].length ?? 0)
  const reader = { text: body, at: 0 }
  skipSpace(reader)
  const root = readElement(reader, 1, '')
  if (!root) return undefined
  skipSpace(reader)
  return reader.at === body.length ? root : undefined
}

/**
 * Returns the only child with a name, in its parent's namespace; undefined if no child or several children have the
 * name.
 */
export function onlyXmlChild(parent: XmlElement, name: string): XmlElement | undefined {
  const [found, second] = parent.children.filter(child => child.name === name)
  return second || found?.namespace !== parent.namespace ? undefined : found
}

interface Reader {
  text: string
  at: number
}

function readElement(reader: Reader, depth: number, around: string): XmlElement | undefined {
  const open = take(reader, OPEN)
  if (!open || depth > LIMITS.deepest) return undefined
  const [, name = '', namespace = around, empty] = open
  const element: XmlElement = { name, namespace, children: [], text: '' }
  if (empty) return element
  const text = readContent(reader, element, depth)
  const close = take(reader, CLOSE)
  if (text === undefined || close?.[1] !== name) return undefined
  if (element.children.length === 0) element.text = text
  else if (!isSpace(text)) return undefined
  return element
}

function readContent(reader: Reader, element: XmlElement, depth: number): string | undefined {
  let text = ''
  while (reader.at < reader.text.length && !reader.text.startsWith('</', reader.at)) {
    if (reader.text[reader.at] === '<') {
      const child = readElement(reader, depth + 1, element.namespace)
      if (!child) return undefined
      element.children.push(child)
    } else {
      const part = unescapeText(take(reader, TEXT)?.[0] ?? '')
      if (part === undefined) return undefined
      text += part
    }
  }
  return text
}

function take(reader: Reader, pattern: RegExp): RegExpExecArray | undefined {
  pattern.lastIndex = reader.at
  const match = pattern.exec(reader.text)
  if (!match) return undefined
  reader.at += match[0].length
  return match
}

const skipSpace = (reader: Reader): void => {
  while (SPACE.includes(reader.text[reader.at] ?? 'x')) reader.at += 1
}

const isSpace = (text: string): boolean => !/[^ \t\n\r]/.test(text)

function unescapeText(raw: string): string | undefined {
  let valid = !raw.includes(']]>')
  const text = raw.replace(/&([^;&]*);?/g, (whole, name: string) => {
    const value = whole.endsWith(';') ? (entities.get(name) ?? numeric(name)) : undefined
    if (value === undefined) valid = false
    return value ?? ''
  })
  return valid ? text : undefined
}

function numeric(name: string): string | undefined {
  const match = /^#(?:x([0-9a-fA-F]{1,6})|(\d{1,7}))$/.exec(name)
  if (!match) return undefined
  const code = match[1] === undefined ? Number(match[2]) : Number.parseInt(match[1], 16)
  const char = code > 0x10ffff ? undefined : String.fromCodePoint(code)
  return char !== undefined && LEGAL.test(char) ? char : undefined
}
