import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import {
  type DrillRehearsal,
  type PrimaryAddress,
  startDrillRehearsal,
} from '../../../infra/local/commands/drill/drill.ts'
import type { LocalHost } from '../../../infra/local/host/host.ts'
import { makeTemporaryDirectory } from '../../../infra/local/os/temporary.ts'
import type { ClusterPair } from '../../../infra/local/pair/pair.ts'
import { blocksOf } from './pages.ts'
import { openShell, type Shell } from './shell.ts'

/** Two clusters under load, joined to a DR set with the page's blocks, and the operator's shell. */
export interface RunbookPair {
  rehearsal: DrillRehearsal
  shell: Shell
  /** the folder of the shell */
  checkout: string
  /** pastes the blocks of a page from `from` to `to` @returns their output */
  follow(page: string, from?: number, to?: number): Promise<string>
  close(): Promise<void>
}

/**
 * Starts a pair of clusters in .local/ of its own folder, as readers have it. A few concurrent logins are
 * enough to notice a lost login; drills use more.
 */
export async function startRunbookPair(): Promise<RunbookPair> {
  const checkout = makeTemporaryDirectory()
  let shell: Shell | undefined
  // the pair of a test that runs concurrently has the same names
  const options = { port: 0, memory: true, unlisted: true, pauseMs: 500 }
  const rehearsal = await startDrillRehearsal(
    options,
    () => undefined,
    async (pair, met) => {
      shell = await setUp(checkout, pair, met)
    },
  )
  if (!shell) throw new Error('the pair has no shell')
  const opened = shell
  return {
    rehearsal,
    shell: opened,
    checkout,
    follow: async (page, from = 0, to) => {
      const blocks = blocksOf(page).slice(from, to)
      if (blocks.length === 0) throw new Error(`${page} has no block from ${from} on`)
      let printed = ''
      for (const block of blocks) printed += (await opened.paste(block)).stdout
      return printed
    },
    close: async () => {
      opened.close()
      await rehearsal.close()
      rmSync(checkout, { recursive: true, force: true })
    },
  }
}

/** Returns the index of the block with the promotion in a page. */
export const promotionIn = (page: string): number =>
  blocksOf(page).findIndex(block => block.includes('secondary/promote ')) + 1

/**
 * Notes the addresses of the clusters, and joins the clusters to a DR set with the commands of the page,
 * through a load balancer in front of east.
 */
async function setUp(
  checkout: string,
  { east, west }: ClusterPair<LocalHost>,
  { address, ca_file }: PrimaryAddress,
): Promise<Shell> {
  for (const { control: _, runtimeOf, close, ...told } of [east, west]) {
    mkdirSync(`${checkout}/.local/${told.cluster}`, { recursive: true })
    const file = `${checkout}/.local/${told.cluster}/cluster.json`
    writeFileSync(file, JSON.stringify({ ...told, link_address: address }))
  }
  const shell = openShell({ cwd: checkout })
  for (const heading of ['The shell', 'On a laptop', 'The prepared token'])
    for (const block of blocksOf('README', heading)) await shell.paste(block)
  await shell.paste(`CA_FILE=${ca_file}`)
  const [, , , ...blocks] = blocksOf('set-up')
  for (const block of blocks) await shell.paste(block)
  return shell
}
