/** What stands in an element. Texts become text, whatever is in them. */
type Child = Node | string | undefined

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  for (const child of children)
    if (child !== undefined)
      element.append(typeof child === 'string' ? document.createTextNode(child) : child)
  return element
}

/** An element of HTML. */
export const el = <N extends keyof HTMLElementTagNameMap>(
  name: N,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[N] => filled(document.createElement(name), attributes, children)

/** An element of a drawing. */
export const drawn = (name: string, attributes: Attributes = {}, ...children: readonly Child[]): SVGElement =>
  filled(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)

/** An element of the page by its id. @throws Error when the page has none, or it is of another kind */
export function byId<E extends HTMLElement = HTMLElement>(id: string, kind?: new () => E): E {
  const found = document.getElementById(id)
  if (!found || (kind && !(found instanceof kind))) throw new Error(`the page has no ${id}`)
  return found as E
}

export const input = (id: string): HTMLInputElement => byId(id, HTMLInputElement)

/** Says something in an element, in the colour of a tone. */
export function say(id: string, text: string, tone = ''): void {
  const target = byId(id)
  if (target.textContent !== text) target.textContent = text
  if (target.className !== tone) target.className = tone
}

const shownKeys = new WeakMap<Element, string>()

/** Puts other content into an element, where it has changed: what has the focus there keeps it, and nothing is read out twice. */
export function show(target: Element, seen: unknown, build: () => readonly Child[]): void {
  const key = JSON.stringify(seen)
  if (shownKeys.get(target) === key) return
  shownKeys.set(target, key)
  target.replaceChildren()
  filled(target, {}, build())
}

/** A list of terms; those without a text are left out. */
export const facts = (rows: readonly (readonly [term: string, text: Child])[]): HTMLElement =>
  el(
    'dl',
    {},
    ...rows
      .filter(([, text]) => text !== undefined && text !== '')
      .flatMap(([term, text]) => [el('dt', {}, term), el('dd', {}, text)]),
  )

/** A table with a head; cells of a row are texts or elements. */
export const table = (head: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement =>
  el(
    'div',
    { class: 'wide', tabindex: 0, role: 'group', 'aria-label': head.join(', ') },
    el(
      'table',
      {},
      el('thead', {}, el('tr', {}, ...head.map(text => el('th', { scope: 'col' }, text)))),
      el('tbody', {}, ...rows.map(cells => el('tr', {}, ...cells.map(cell => el('td', {}, cell))))),
    ),
  )

/** The age of a moment, which `tick` keeps up. @param at epoch milliseconds */
export const age = (at: number): HTMLElement => el('span', { 'data-at': at })

/** Writes all ages anew. */
export function tick(spanOf: (ms: number) => string, now: number): void {
  for (const one of document.querySelectorAll('[data-at]'))
    one.textContent = `${spanOf(now - Number(one.getAttribute('data-at')))} ago`
}
