import { readFileSync } from 'node:fs'
import { isBinaryExpression, isStringLiteral, type Node, SyntaxKind } from 'typescript/unstable/ast'
import { describe, expect, test } from 'vitest'
import { root, sourcesIn, withProject } from '../support/types/project.ts'

/** Folders of the functions and of the embedded host. */
const PRODUCT = ['shared/', 'functions/', 'infra/']

/**
 * Reports whether code distinguishes results by a member that some of the results lack, or by the text
 * `again`.
 */
const tellsApart = (node: Node): boolean =>
  isBinaryExpression(node)
    ? node.operatorToken.kind === SyntaxKind.InKeyword && isStringLiteral(node.left)
    : isStringLiteral(node) && node.text === 'again'

/** Returns the files whose code distinguishes results in this way. */
const findFiles = (files?: Readonly<Record<string, string>>): string[] =>
  withProject(
    project =>
      sourcesIn(project, PRODUCT)
        .filter(file => {
          let found = false
          const visit = (node: Node): void => {
            found ||= tellsApart(node)
            node.forEachChild(visit)
          }
          visit(file)
          return found
        })
        .map(({ fileName }) => fileName.slice(root.length))
        .sort(),
    files,
  )

const ROW = /^\| `((?:shared|functions|infra)\/[\w/.-]+\.ts)` \| `[^|]+` \|/gm
const section =
  /## Results\n([\s\S]*?)\n## /.exec(readFileSync(`${root}docs/look-up/style.md`, 'utf8'))?.[1] ?? ''
const exceptions = [...section.matchAll(ROW)].map(([, file = '']) => file)

test('results are distinguished by `ok` or `kind`, except in at most ten files that docs/look-up/style.md lists', () => {
  expect(findFiles()).toEqual(exceptions.sort())
  expect(exceptions.length).toBeLessThanOrEqual(10)
})

describe('the check of result types finds code that', () => {
  test.each([
    ['tests for a member', "export const f = (a: { why: 1 } | { b: 1 }) => 'why' in a"],
    ['returns the result `again`', "export const f = () => 'again' as const"],
  ])('%s', (_, code) => {
    expect(findFiles({ 'shared/given.ts': code })).toEqual(['shared/given.ts'])
  })
})

test('the check of result types ignores code that tests for a name in a variable', () => {
  expect(findFiles({ 'shared/given.ts': 'export const f = (a: object, b: string) => b in a' })).toEqual([])
})
