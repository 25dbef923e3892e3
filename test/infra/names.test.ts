import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** Files whose exported names follow from an interface outside these files. */
const named = [
  // names that Lambda calls
  /^functions\//,
  // the package exports its construct under the construct's name
  /^infra\/package\/(index|construct|declaration)\.ts$/,
  // generated from the link's messages
  /^shared\/wire\/gen\//,
]

const EXPORTED = /^export (?:declare )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm

const declarations = ['shared', 'functions', 'infra']
  .flatMap(folder =>
    readdirSync(root + folder, { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`),
  )
  .filter(file => file.endsWith('.ts') && !named.some(pattern => pattern.test(file)))
  .flatMap(file =>
    [...new Set([...readFileSync(root + file, 'utf8').matchAll(EXPORTED)].map(([, name = '']) => name))].map(
      name => ({ file, name }),
    ),
  )

test('no two files export the same name', () => {
  expect(declarations.length).toBeGreaterThan(1000)
  const twice = [...Map.groupBy(declarations, one => one.name)]
    .filter(([, places]) => places.length > 1)
    .map(([name, places]) => `${name}: ${places.map(({ file }) => file).join(', ')}`)
  expect(twice).toEqual([])
})
