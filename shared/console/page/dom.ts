/** A child of an element. Texts are inserted as text nodes, never as HTML. */
type Child = Node | string | undefined

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

function fill<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : String(value))
  for (const child of children)
    if (child !== undefined)
      element.append(typeof child === 'string' ? document.createTextNode(child) : child)
  return element
}

/** Creates an HTML element. */
export const createElement = <N extends keyof HTMLElementTagNameMap>(
  name: N,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[N] => fill(document.createElement(name), attributes, children)

/** Creates an SVG element. */
export const createSvgElement = (
  name: string,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElement => fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children)

/** Returns an element by its id. @throws Error if the page has no such element, or it has another type */
export function elementById<E extends HTMLElement = HTMLElement>(id: string, kind?: new () => E): E {
  const found = document.getElementById(id)
  if (!found || (kind && !(found instanceof kind))) throw new Error(`the page has no element ${id}`)
  return found as E
}

export const inputById = (id: string): HTMLInputElement => elementById(id, HTMLInputElement)

/** Sets an element's text and colour class. */
export function showText(id: string, text: string, tone = ''): void {
  const target = elementById(id)
  if (target.textContent !== text) target.textContent = text
  if (target.className !== tone) target.className = tone
}

const shownKeys = new WeakMap<Element, string>()

/**
 * Replaces an element's content if the content changed. Unchanged content keeps the focus, and screen readers do
 * not repeat it.
 */
export function replaceContent(target: Element, seen: unknown, build: () => readonly Child[]): void {
  const key = JSON.stringify(seen)
  if (shownKeys.get(target) === key) return
  shownKeys.set(target, key)
  target.replaceChildren()
  fill(target, {}, build())
}

/** Creates a list of terms; terms without a text are omitted. */
export const createTermList = (rows: readonly (readonly [term: string, text: Child])[]): HTMLElement =>
  createElement(
    'dl',
    {},
    ...rows
      .filter(([, text]) => text !== undefined && text !== '')
      .flatMap(([term, text]) => [createElement('dt', {}, term), createElement('dd', {}, text)]),
  )

/** Creates a part of the page that a click on its title unfolds. */
export const createDetails = (title: string, ...children: readonly Child[]): HTMLElement =>
  createElement('details', {}, createElement('summary', {}, title), ...children)

/** Creates a table with a header row. */
export const createTable = (head: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement =>
  createElement(
    'div',
    { class: 'wide', tabindex: 0, role: 'group', 'aria-label': head.join(', ') },
    createElement(
      'table',
      {},
      createElement(
        'thead',
        {},
        createElement('tr', {}, ...head.map(text => createElement('th', { scope: 'col' }, text))),
      ),
      createElement(
        'tbody',
        {},
        ...rows.map(cells => createElement('tr', {}, ...cells.map(cell => createElement('td', {}, cell)))),
      ),
    ),
  )

/** Creates an element with the age of a moment; `refreshAges` updates it. @param at epoch milliseconds */
export const ageElement = (at: number): HTMLElement => createElement('span', { 'data-at': at })

/** Updates all ages on the page. */
export function refreshAges(spanOf: (ms: number) => string, now: number): void {
  for (const one of document.querySelectorAll('[data-at]'))
    one.textContent = `${spanOf(now - Number(one.getAttribute('data-at')))} ago`
}

/** Creates a list item with a purpose and a command, which a button copies. */
export function createCommand({ what, text }: { what: string; text: string }): HTMLLIElement {
  const shown = createElement('pre', { tabindex: 0 }, text)
  const button = createElement('button', { type: 'button', class: 'copy' }, 'Copy')
  button.addEventListener('click', () => {
    const isCopied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    isCopied.then(
      () => (button.textContent = 'Copied'),
      // without a clipboard the command is selected, so that a key copies it
      () => getSelection()?.selectAllChildren(shown),
    )
  })
  return createElement('li', {}, createElement('p', {}, what, ' ', button), shown)
}
