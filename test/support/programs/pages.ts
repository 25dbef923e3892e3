import { readFileSync } from 'node:fs'
import { checkoutRoot } from '../../../infra/checkout.ts'

/**
 * Returns the `sh` blocks of a page in order, without their indentation.
 * @param page path in the checkout, or the name of a runbook
 * @param heading only the blocks under this heading, up to the next heading of any level
 */
export function blocksOf(page: string, heading?: string): string[] {
  const path = page.endsWith('.md') ? page : `docs/runbooks/${page}.md`
  const blocks: string[] = []
  let [under, indent] = ['', '']
  let block: string[] | undefined
  for (const line of readFileSync(checkoutRoot + path, 'utf8').split('\n')) {
    if (block) {
      if (line.trim() !== '```') block.push(line.slice(indent.length))
      else {
        if (heading === undefined || heading === under) blocks.push(block.join('\n'))
        block = undefined
      }
    } else if (line.startsWith('#')) under = line.replace(/^#+ /, '')
    else if (line.trim() === '```sh') [block, indent] = [[], line.slice(0, line.indexOf('`'))]
  }
  if (blocks.length === 0)
    throw new Error(`${path} has no block to paste${heading ? ` under ${heading}` : ''}`)
  return blocks
}
