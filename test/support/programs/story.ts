import { readFileSync } from 'node:fs'

/** Lines of each file: more of them tell nothing. */
const MOST = 60

/** What a host's own files say of changes of its role, and what went wrong there: for who reads of a test that failed. */
export function storyOf({ cluster, directory }: { cluster: string; directory: string }): string {
  const linesOf = (name: string, wanted: RegExp): string[] =>
    readFileSync(`${directory}/${name}`, 'utf8')
      .split('\n')
      .filter(line => wanted.test(line))
      .slice(-MOST)
  return [
    `--- ${cluster}`,
    ...linesOf('audit.log', /"audit":"replication"/),
    ...linesOf('functions.log', /"level":"(WARN|ERROR)"/),
  ].join('\n')
}
