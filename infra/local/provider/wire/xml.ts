/** The content of an answer: XML in the query protocols, JSON if requested. */
export type XmlTree =
  | string
  | number
  | boolean
  | readonly XmlTree[]
  | { readonly [name: string]: XmlTree | undefined }
  | undefined

/** XML style of one protocol: the root's namespace and the element around each list entry. */
export interface XmlStyle {
  xmlns: string
  listItem: 'member' | 'item'
}

/**
 * Renders an XML document with one root element, indented as AWS does. Absent values are omitted; empty lists become
 * empty elements.
 */
export const renderXml = (root: string, tree: XmlTree, style: XmlStyle): string =>
  element(root, ` xmlns="${escapeXml(style.xmlns)}"`, tree, style.listItem, '')

function element(name: string, attributes: string, tree: XmlTree, listItem: string, indent: string): string {
  if (tree === undefined) return ''
  if (typeof tree !== 'object') {
    return `${indent}<${name}${attributes}>${escapeXml(String(tree))}</${name}>\n`
  }
  const children = childrenOf(tree, listItem)
    .map(([childName, child]) => element(childName, '', child, listItem, `${indent}  `))
    .join('')
  if (children === '') return `${indent}<${name}${attributes}/>\n`
  return `${indent}<${name}${attributes}>\n${children}${indent}</${name}>\n`
}

const childrenOf = (tree: object, listItem: string): [string, XmlTree][] =>
  Array.isArray(tree) ? tree.map(entry => [listItem, entry]) : Object.entries(tree)

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escapeXml = (text: string): string => text.replace(/[&<>"]/g, character => escapes[character] ?? '')
