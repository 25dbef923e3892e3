import { readFileSync } from 'node:fs'

/** Maximum number of lines to show of each file. */
const MOST = 60

/** Returns the role changes and the errors in a host's files, for the report of a failed test. */
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
