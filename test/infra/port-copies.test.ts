import { beforeAll, describe, expect, test } from 'vitest'
import { findPortCopies } from '../support/types/port-copies.ts'

/** Folders of the functions and of the embedded host. */
const PRODUCT = ['shared/', 'functions/', 'infra/']

const HEAD = `import type { Ports } from './ports.ts'
type Run = Pick<Ports, 'journal' | 'clock'>
interface Own { readonly entropy: Pick<Ports['entropy'], 'uuid'>; readonly treeId: string }
interface Call { ports: Ports; now: number }
declare const ports: Ports
declare const run: Run
declare const own: Own
declare const call: Call
`

test('the product never reads all members of an object whose members are ports', () => {
  expect(findPortCopies(PRODUCT)).toEqual([])
})

/** Code that reads all ports of an object, and the ports that it reads. */
const COPIES = [
  [
    'a rest pattern of a parameter',
    'export const f = ({ journal, ...rest }: Run) => [journal, rest]',
    'journal clock',
  ],
  ['a rest pattern of a variable', 'export const { clock, ...rest } = run', 'journal clock'],
  [
    'a rest pattern inside a pattern',
    'export const { ports: { store, ...rest } } = { ports: run as Run & { store: 1 } }',
    'journal clock',
  ],
  ['a spread of a Pick', 'export const more = { ...run, treeId: "a" }', 'journal clock'],
  ['a spread of an interface with some ports', 'export const more = { ...own }', 'entropy'],
  [
    'a spread of a value that may be absent',
    'export const f = (some?: Run) => ({ ...some })',
    'journal clock',
  ],
  [
    'a spread of a generic value',
    'export const f = <P extends Run>(some: P) => ({ ...some })',
    'journal clock',
  ],
  ['Object.assign', 'export const more = Object.assign({}, own)', 'entropy'],
  ['Object.entries', 'export const more = Object.entries(own)', 'entropy'],
  ['for … in', 'export const f = () => { for (const name in own) return name; return "" }', 'entropy'],
] as const

const ALL_PORTS = 'export const more = { ...ports }'

/** Code that reads no port. */
const OTHERS = [
  ['a pattern that names its members', 'export const f = ({ journal, clock }: Run) => [journal, clock]'],
  ['a spread of an object that has the ports in one member', 'export const more = { ...call, now: 1 }'],
  ['a spread of one port', 'export const more = { ...run.clock }'],
  [
    'a member that only has the name of a port',
    'export const f = (of: { events: string[]; log: 1 }) => ({ ...of })',
  ],
  ['a rest element of a list', 'export const [first, ...rest] = [run, run]'],
] as const

/** The reported ports of each piece of code. The compiler opens one project with all pieces. */
let found: ReadonlyMap<string, string[]>

beforeAll(() => {
  const codes = [...COPIES.map(([, code]) => code), ...OTHERS.map(([, code]) => code), ALL_PORTS]
  const files = codes.map((code, index) => [`shared/given-${index}.ts`, HEAD + code] as const)
  const copies = findPortCopies(['shared/'], Object.fromEntries(files))
  found = new Map(
    codes.map((code, index) => [
      code,
      copies
        .filter(({ at }) => at.startsWith(`shared/given-${index}.ts:`))
        .map(({ ports }) => ports.join(' ')),
    ]),
  )
})

describe('code that reads all ports of an object is found', () => {
  test.each(COPIES)('%s', (_, code, ports) => {
    expect(found.get(code)).toEqual([ports])
  })

  test('a spread of all ports with every name', () => {
    const [names = ''] = found.get(ALL_PORTS) ?? []
    expect(names.split(' ')).toEqual(expect.arrayContaining(['store', 'instances', 'carryTo', 'memory']))
  })
})

describe('code that reads no port is not found', () => {
  test.each(OTHERS)('%s', (_, code) => {
    expect(found.get(code)).toEqual([])
  })
})
