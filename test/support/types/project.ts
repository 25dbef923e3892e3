import type { SourceFile } from 'typescript/unstable/ast'
import { API, type Project } from 'typescript/unstable/sync'

/** The folder of the checkout, with a slash at its end. */
export const root = new URL('../../../', import.meta.url).pathname

const TSCONFIG = `${root}tsconfig.json`

/**
 * Opens the compiler's project of the checkout while `use` works with it.
 * @param files texts by path in the checkout, instead of those on the disk
 */
export function withProject<T>(use: (project: Project) => T, files?: Readonly<Record<string, string>>): T {
  const given = new Map(Object.entries(files ?? {}).map(([path, text]) => [`${root}${path}`, text]))
  const tsconfig = files ? `${root}given.tsconfig.json` : TSCONFIG
  given.set(
    `${root}given.tsconfig.json`,
    JSON.stringify({ extends: TSCONFIG, include: [], files: [...given.keys()] }),
  )
  const api = new API({
    cwd: root,
    fs: { readFile: path => given.get(path), fileExists: path => given.has(path) || undefined },
  })
  try {
    const [project] = api.updateSnapshot({ openProjects: [tsconfig] }).getProjects()
    if (!project) throw new Error(`the compiler opens no project for ${tsconfig}`)
    return use(project)
  } finally {
    api.close()
  }
}

/** Returns the syntax trees of the files in some folders. @param folders with a slash at their ends */
export const sourcesIn = ({ rootFiles, program }: Project, folders: readonly string[]): SourceFile[] =>
  rootFiles
    .filter(path => folders.some(folder => path.startsWith(`${root}${folder}`)))
    .flatMap(path => program.getSourceFile(path) ?? [])
