import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

interface Floor {
  folder: string
  values?: readonly string[]
  typesOf?: readonly string[]
}

/**
 * The source folders from top to bottom; each folder is one floor. Imports, also of types, go down only.
 * `values`: the only floors from which values may be imported; without it all floors below. `typesOf`: floors
 * below from which only types may be imported.
 */
const floors: readonly Floor[] = [
  { folder: 'infra' },
  { folder: 'functions', typesOf: ['shared/storage', 'shared/model', 'shared/wire', 'shared/values'] },
  { folder: 'shared/http', typesOf: ['shared/wire'] },
  { folder: 'shared/front', values: ['shared/values'] },
  {
    folder: 'shared/adapters',
    values: [
      'shared/journal',
      'shared/api',
      'shared/storage',
      'shared/model',
      'shared/wire',
      'shared/watching',
      'shared/values',
    ],
  },
  { folder: 'shared/workers', typesOf: ['shared/model', 'shared/wire'] },
  { folder: 'shared/endpoints', typesOf: ['shared/wire'] },
  { folder: 'shared/auth-method' },
  { folder: 'shared/replication' },
  { folder: 'shared/identity-proof' },
  { folder: 'shared/system' },
  { folder: 'shared/identity' },
  { folder: 'shared/ceremony' },
  { folder: 'shared/cluster' },
  { folder: 'shared/mounts' },
  { folder: 'shared/tokens' },
  { folder: 'shared/policies' },
  { folder: 'shared/jobs' },
  { folder: 'shared/link' },
  { folder: 'shared/journal' },
  { folder: 'shared/api', values: ['shared/storage', 'shared/values'] },
  { folder: 'shared/ports.ts', values: [] },
  { folder: 'shared/work-ports.ts', values: [] },
  { folder: 'shared/storage', values: ['shared/values'] },
  { folder: 'shared/console', values: ['shared/set', 'shared/values'] },
  { folder: 'shared/set', values: ['shared/model', 'shared/values'] },
  { folder: 'shared/model' },
  { folder: 'shared/wire', values: [] },
  { folder: 'shared/watching', values: [] },
  { folder: 'shared/values' },
]

/** Upward imports of types that are allowed, with their reasons. */
const upward: Readonly<Record<string, string>> = {
  'shared/model -> shared/auth-method':
    'what is stored of a role and a configuration follows from a table of fields',
  'shared/model -> shared/tokens': 'what is stored of a token follows from the table of its terms',
  'shared/ports.ts -> shared/journal':
    'the journal is a port, and its form is told in the words of its folder',
}

const floorOf = (path: string): string =>
  path.startsWith('shared/') ? path.split('/').slice(0, 2).join('/') : (path.split('/')[0] ?? '')
const heightOf = (floor: string): number => -floors.findIndex(({ folder }) => folder === floor)

const IMPORT = /^(import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm
const DYNAMIC = /import\('([^']+)'\)/g

interface Import {
  file: string
  target: string
  typeOnly: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(root + file, 'utf8')
  const fixed = [...text.matchAll(IMPORT)].map(([, , type, target = '']) => ({
    file,
    target,
    typeOnly: type !== undefined,
  }))
  const lazy = [...text.matchAll(DYNAMIC)].map(([, target = '']) => ({ file, target, typeOnly: false }))
  return [...fixed, ...lazy]
}

const files = ['shared', 'functions', 'infra'].flatMap(folder =>
  readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => `${folder}/${name}`),
)
const imports = files.flatMap(importsOf)
const within = imports.flatMap(one =>
  one.target.startsWith('.') ? [{ ...one, target: posix.join(posix.dirname(one.file), one.target) }] : [],
)

const arrows = within
  .filter(({ target }) => target.endsWith('.ts'))
  .map(one => ({ ...one, from: floorOf(one.file), to: floorOf(one.target) }))
  .filter(({ from, to }) => from !== to)
const textOf = ({ file, target }: Import): string => `${file} -> ${target}`

test('no file has more than 400 lines, except generated ones', () => {
  const linesOf = (file: string): number => readFileSync(root + file, 'utf8').split('\n').length - 1
  const written = files.filter(file => !file.startsWith('shared/wire/gen/'))
  expect(written.filter(file => linesOf(file) > 400)).toEqual([])
})

describe('imports in the sources', () => {
  test('are found by the check in all files', () => {
    expect(files.length).toBeGreaterThan(150)
    expect(within.length).toBeGreaterThan(500)
  })

  test('are checked by a table with a floor for every folder, and every floor exists', () => {
    const known = floors.map(({ folder }) => folder)
    expect([...new Set([...files, ...within.map(({ target }) => target)].map(floorOf))].toSorted()).toEqual(
      known.toSorted(),
    )
  })

  test('go down, except for three upward imports of types', () => {
    const up = arrows.filter(({ from, to }) => heightOf(from) < heightOf(to))
    expect([...new Set(up.map(({ from, to }) => `${from} -> ${to}`))].toSorted()).toEqual(Object.keys(upward))
    expect(up.filter(one => !one.typeOnly).map(textOf)).toEqual([])
    expect(Object.keys(upward).length).toBeLessThanOrEqual(3)
  })

  test('take values only from floors that the row allows', () => {
    const rows = new Map(floors.map(one => [one.folder, one]))
    const wrong = arrows.filter(({ from, to, typeOnly }) => {
      const { values, typesOf } = rows.get(from) ?? {}
      return !typeOnly && (values?.includes(to) === false || typesOf?.includes(to))
    })
    expect(wrong.map(textOf)).toEqual([])
  })

  test('do not connect the two logins, and the shared login code imports neither', () => {
    const siblings = /^shared\/auth-method\/(login|login-ec2|login-iam)\//
    const loginOf = (path: string) => siblings.exec(path)?.[1]
    const between = within.filter(({ file, target }) => {
      const [from, to] = [loginOf(file), loginOf(target)]
      return from !== undefined && to !== undefined && from !== to && to !== 'login'
    })
    expect(between).toEqual([])
  })

  test('keep decision rules free of modules that read', () => {
    const rules = files.filter(file =>
      /\/(decide|facts|principal|reauthentication|checks|common-checks)\.ts$/.test(file),
    )
    expect(rules.length).toBeGreaterThan(8)
    const reached = (file: string): string[] => [
      file,
      ...within.filter(one => one.file === file && !one.typeOnly).flatMap(one => reached(one.target)),
    ]
    const reading = rules.flatMap(rule =>
      reached(rule)
        .filter(file =>
          /\/(gather|see-instance|fetch|full-arn|accounts)\.ts$|^shared\/(adapters|http)\//.test(file),
        )
        .map(file => `${rule} -> ${file}`),
    )
    expect(reading).toEqual([])
  })

  test('have no cycles, types included', () => {
    const targets = Map.groupBy(within, one => one.file)
    const finished = new Set<string>()
    const circleFrom = (file: string, trail: readonly string[]): readonly string[] | undefined => {
      if (trail.includes(file)) return [...trail, file]
      if (finished.has(file)) return undefined
      const found = (targets.get(file) ?? [])
        .map(one => circleFrom(one.target, [...trail, file]))
        .find(Boolean)
      finished.add(file)
      return found
    }
    expect(files.map(file => circleFrom(file, [])).filter(Boolean)).toEqual([])
  })

  test("of AWS clients are only in adapters, the host's engine and imitated AWS, and the command's credentials", () => {
    const outside = imports.filter(
      ({ file, target, typeOnly }) =>
        target.startsWith('@aws-sdk/') &&
        !typeOnly &&
        !file.startsWith('shared/adapters/') &&
        !file.startsWith('infra/local/') &&
        file !== 'infra/command/login/caller-request.ts',
    )
    expect(outside).toEqual([])
  })

  test('in infra take one adapter and nothing of HTTP, and nothing imports functions, infra or tests', () => {
    const into = (prefix: string, from: string) =>
      within.filter(one => one.target.startsWith(prefix) && one.file.startsWith(from))
    expect(into('shared/http/', 'infra/')).toEqual([])
    expect(into('shared/adapters/', 'infra/').map(({ file, target }) => [file, target])).toEqual([
      ['infra/local/engine/engine.ts', 'shared/adapters/aws/sdk-tables.ts'],
    ])
    expect(into('functions/', 'infra/')).toEqual([])
    expect([...into('infra/', 'shared/'), ...into('infra/', 'functions/'), ...into('test/', '')]).toEqual([])
  })

  // one environment serves many requests at once, so the state of a module must be valid for all of them
  test('only these modules keep state, which does not belong to a request', () => {
    const keeping = files.filter(
      file =>
        !file.startsWith('infra/') &&
        // a page in a browser serves one user
        !file.startsWith('shared/console/page/') &&
        /^(export )?(let |(const|var) \w+(: [^=]+)? = new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\))/m.test(
          readFileSync(root + file, 'utf8'),
        ),
    )
    expect(keeping.sort()).toEqual([
      'shared/adapters/aws/connections.ts',
      'shared/auth-method/explain.ts',
      'shared/auth-method/login-iam/full-arn.ts',
      'shared/http/match.ts',
      'shared/identity-proof/jwk.ts',
      'shared/identity-proof/trust.ts',
      'shared/policies/access.ts',
      'shared/policies/load.ts',
      'shared/policies/tree.ts',
      'shared/tokens/rights.ts',
      'shared/values/raw-keys.ts',
    ])
  })

  test('only these files and the local host read process.env', () => {
    const readers = files.filter(
      file => !file.startsWith('infra/local/') && /process\.env\b/.test(readFileSync(root + file, 'utf8')),
    )
    expect(readers.sort()).toEqual([
      'infra/app.ts',
      'infra/build/functions.ts',
      'infra/build/lean-sdk.ts',
      'infra/command/main.ts',
      'infra/pair/main.ts',
      'infra/release/main.ts',
      'infra/release/tree.ts',
      'shared/adapters/aws/environment.ts',
    ])
  })
})
