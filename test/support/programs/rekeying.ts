import { blocksOf } from './pages.ts'
import type { Shell } from './shell.ts'

/** Returns the shell blocks of the page that make new recovery shares. */
export const rekeyingBlocks = (): string[] =>
  blocksOf('lost-shares', 'Some shares are lost, or somebody has them who should not')

/**
 * Makes new recovery shares with the commands of the page. The share holders use the new shares from then on,
 * and one holder keeps an old share.
 */
export async function rekeyIn(shell: Shell): Promise<void> {
  await shell.paste('OLD_SHARE=$SHARE_1')
  for (const block of rekeyingBlocks()) {
    // the last block removes the file with the new shares
    if (block.includes('rm "$NEW_SHARES"'))
      for (const one of [1, 2, 3])
        await shell.paste(`SHARE_${one}=$(jq -er '.keys[${one - 1}]' "$NEW_SHARES")`)
    await shell.paste(block, block.includes('read -rp') ? 'yes\n' : '')
  }
}
