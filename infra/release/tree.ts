import { execFileSync } from 'node:child_process'
import { checkoutRoot } from '../checkout.ts'

/** The checkout as git sees it. */
export interface TreeState {
  /** hash of the commit */
  commit: string
  /** hash of the commit's files */
  tree: string
  /** paths that differ from the commit, including untracked files */
  changes: string[]
  tags: string[]
}

/**
 * Reads the state of a checkout from git, without the user's configuration, which can hide untracked files.
 * @throws Error if the folder is no checkout, or git is missing
 */
export function readTree(folder = checkoutRoot): TreeState {
  const git = (...words: string[]): string[] =>
    execFileSync('git', words, {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    })
      .split('\n')
      .filter(line => line !== '')
  const [commit = '', tree = ''] = git('rev-parse', 'HEAD', 'HEAD^{tree}')
  const changes = git('status', '--porcelain', '--untracked-files=all').map(line => line.slice(3))
  return { commit, tree, changes, tags: git('tag', '--list') }
}
