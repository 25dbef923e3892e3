import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = new URL('../../', import.meta.url).pathname

/** Layers by path, the most specific first, and what each may import (of values; types may come from anywhere below). */
const layers: readonly { name: string; of: RegExp; may: readonly string[]; typesFrom?: readonly string[] }[] =
  [
    { name: 'values', of: /^shared\/values\//, may: [] },
    { name: 'model', of: /^shared\/model\//, may: ['values'], typesFrom: ['domain'] },
    { name: 'messages', of: /^shared\/wire\//, may: [] },
    { name: 'storage', of: /^shared\/storage\//, may: ['values'], typesFrom: ['model', 'ports', 'journal'] },
    {
      name: 'journal',
      of: /^shared\/journal\/(position|head|generation|tree|cell|journal)\.ts$/,
      may: ['storage', 'values'],
      typesFrom: ['model'],
    },
    {
      name: 'ports',
      of: /^shared\/ports\.ts$/,
      may: [],
      typesFrom: ['storage', 'journal', 'messages', 'model', 'values'],
    },
    { name: 'api', of: /^shared\/api\//, may: ['storage', 'values'], typesFrom: ['model', 'ports'] },
    {
      name: 'adapters',
      of: /^shared\/adapters\//,
      may: ['api', 'journal', 'messages', 'model', 'storage', 'values'],
      typesFrom: ['domain', 'ports'],
    },
    {
      name: 'handler',
      of: /^shared\/http\/(lambda|link)\.ts$/,
      may: ['http', 'api', 'adapters', 'domain', 'values'],
      typesFrom: ['ports'],
    },
    {
      name: 'http',
      of: /^shared\/http\//,
      may: ['api', 'domain', 'model', 'storage', 'values'],
      typesFrom: ['ports'],
    },
    {
      name: 'endpoints',
      of: /^shared\/endpoints\//,
      may: ['api', 'domain', 'model', 'storage', 'values'],
    },
    {
      name: 'workers',
      of: /^shared\/workers\//,
      may: ['api', 'domain', 'values'],
      typesFrom: ['messages', 'model', 'ports'],
    },
    {
      name: 'domain',
      of: /^shared\//,
      may: ['api', 'journal', 'messages', 'model', 'storage', 'values'],
      typesFrom: ['ports'],
    },
    {
      name: 'functions',
      of: /^functions\//,
      may: ['handler', 'endpoints', 'workers', 'adapters', 'api', 'domain'],
    },
    {
      name: 'infra',
      of: /^infra\//,
      may: ['api', 'endpoints', 'messages', 'workers', 'domain', 'journal', 'model', 'storage', 'values'],
    },
  ]

/** Folders from top to bottom, each with all that is in it: imports, of types too, go down this list. */
const floors = [
  'functions',
  'shared/http',
  'shared/workers',
  'shared/adapters',
  'shared/endpoints',
  'shared/auth-method',
  'shared/replication',
  'shared/identity-proof',
  'shared/system',
  'shared/identity',
  'shared/ceremony',
  'shared/cluster',
  'shared/link',
  'shared/mounts',
  'shared/journal',
  'shared/tokens',
  'shared/policies',
  'shared/jobs',
  'shared/api',
  'shared/ports.ts',
  'shared/wire',
  'shared/storage',
  'shared/model',
  'shared/values',
]

/** Arrows that go up all the same: types of what is stored that follow from a table of fields, and one question. */
const upward = [
  'shared/model -> shared/auth-method',
  'shared/model -> shared/tokens',
  'shared/ports.ts -> shared/journal',
  // readiness asks for the region as a login does
  'shared/replication -> shared/auth-method',
  // a token is renewed by what its login stood on
  'shared/tokens -> shared/auth-method',
]

const layerOf = (file: string) => layers.find(layer => layer.of.test(file))

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

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const [from, to] = [layerOf(file), layerOf(target)]
  if (!from || !to) return false
  if (from.name === to.name) return true
  const path = file.startsWith('shared/storage/') && target === 'shared/storage/kinds.ts'
  return path || from.may.includes(to.name) || (typeOnly && (from.typesFrom ?? []).includes(to.name))
}

describe('imports point downward', () => {
  test('the scan finds the files and their imports', () => {
    expect(files.length).toBeGreaterThan(150)
    expect(within.length).toBeGreaterThan(500)
  })

  test('every file belongs to a layer, and imports only what its layer may', () => {
    const wrong = within.filter(one => !isAllowed(one)).map(({ file, target }) => `${file} -> ${target}`)
    expect(wrong).toEqual([])
  })

  test('folders import downward, but for the arrows that are named', () => {
    const floorOf = (path: string) =>
      path.startsWith('functions/') ? 'functions' : path.split('/').slice(0, 2).join('/')
    const arrows = within
      .filter(one => !one.file.startsWith('infra/') && one.target.endsWith('.ts'))
      .map(one => [floorOf(one.file), floorOf(one.target)] as const)
    const unlisted = arrows.flat().filter(floor => !floors.includes(floor))
    expect([...new Set(unlisted)]).toEqual([])
    const up = arrows.filter(([from, to]) => floors.indexOf(from) > floors.indexOf(to))
    expect([...new Set(up.map(([from, to]) => `${from} -> ${to}`))].sort()).toEqual(upward)
  })

  test('neither login imports the other, and what they share imports neither', () => {
    const siblings = /^shared\/auth-method\/(login|login-ec2|login-iam)\//
    const loginOf = (path: string) => siblings.exec(path)?.[1]
    const between = within.filter(({ file, target }) => {
      const [from, to] = [loginOf(file), loginOf(target)]
      return from !== undefined && to !== undefined && from !== to && to !== 'login'
    })
    expect(between).toEqual([])
  })

  test('rules import nothing that reads', () => {
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

  test('no file imports itself by way of others, types included', () => {
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

  test('only adapters import AWS clients; the host has its own engine and imitated AWS', () => {
    const outside = imports.filter(
      ({ file, target, typeOnly }) =>
        target.startsWith('@aws-sdk/') &&
        !typeOnly &&
        !file.startsWith('shared/adapters/') &&
        !file.startsWith('infra/local/'),
    )
    expect(outside).toEqual([])
  })

  test('infra takes no adapter, and nothing takes functions, infra or tests', () => {
    const into = (prefix: string, from: string) =>
      within.filter(one => one.target.startsWith(prefix) && one.file.startsWith(from))
    expect(into('shared/adapters/', 'infra/')).toEqual([])
    expect(into('functions/', 'infra/')).toEqual([])
    expect([...into('infra/', 'shared/'), ...into('infra/', 'functions/'), ...into('test/', '')]).toEqual([])
  })

  // one environment serves many requests at once: what a module keeps has to hold for all of them
  test('modules keep only what does not belong to a request: parsed texts, compiled tables, times of connections', () => {
    const keeping = files.filter(
      file =>
        !file.startsWith('infra/') &&
        /^(export )?(let |(const|var) \w+(: [^=]+)? = new (Map|Set|WeakMap|WeakSet)(<.*>)?\(\))/m.test(
          readFileSync(root + file, 'utf8'),
        ),
    )
    expect(keeping.sort()).toEqual([
      'shared/adapters/aws/connections.ts',
      'shared/auth-method/explain.ts',
      'shared/auth-method/login-iam/full-arn.ts',
      'shared/http/match.ts',
      'shared/identity-proof/trust.ts',
      'shared/policies/access.ts',
      'shared/policies/load.ts',
      'shared/policies/tree.ts',
    ])
  })

  test('the environment is read in three files, and by the local host', () => {
    const readers = files.filter(
      file => !file.startsWith('infra/local/') && /process\.env\b/.test(readFileSync(root + file, 'utf8')),
    )
    expect(readers.sort()).toEqual([
      'infra/app.ts',
      'infra/build/functions.ts',
      'shared/adapters/aws/environment.ts',
    ])
  })
})
