import { beforeEach, describe, expect, test, vi } from 'vitest'
import { readEnvironment } from '../../../../shared/adapters/aws/environment.ts'
import { createAwsPorts } from '../../../../shared/adapters/aws/ports.ts'
import { createTableSend } from '../../../../shared/adapters/aws/wire/tables.ts'
import type { EndpointUse } from '../../../../shared/api/endpoint.ts'
import type { Ports } from '../../../../shared/ports.ts'
import { type Change, createItem, removeItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import { NOW, token } from '../../tokens/support.ts'

const environment = readEnvironment({ AWS_REGION: 'eu-west-1', DATA_TABLE: 'data', CLUSTER_TABLE: 'cluster' })
const clock = { now: () => NOW, sleep: async () => undefined }
const cluster = { record: {} as never, readAt: NOW }

/** An engine that gives every call the same response. */
const engine = vi.fn()
beforeEach(() => void engine.mockReset().mockResolvedValue({ statusCode: 200, body: {} }))
const portsOf = (...uses: EndpointUse[]) =>
  createAwsPorts('test', uses, environment, clock, undefined, createTableSend(engine, 1))

const reaching: [keyof Ports, EndpointUse][] = [
  ['instances', 'instances'],
  ['principals', 'principals'],
  ['callerIdentity', 'caller-identity'],
  ['accessKeys', 'access-keys'],
  ['background', 'background'],
  ['workflows', 'workflow'],
  ['keyFactory', 'key-factory'],
]
const allBut = (use: EndpointUse) => reaching.map(([, other]) => other).filter(other => other !== use)

describe('the ports of a Lambda function are limited to the uses that its endpoints declare', () => {
  test.each(reaching)('the port %s needs the use %s, even with all other uses declared', (port, use) => {
    expect(() => portsOf(...allBut(use))[port]).toThrow(`${port} needs the use "${use}"`)
    expect(portsOf(use)[port]).toBeTypeOf('object')
  })

  test.each<[string, (ports: Ports) => unknown]>([
    ['a rest pattern', ({ store: _, ...others }) => others],
    ['a spread', ports => ({ ...ports })],
    ['Object.assign', ports => Object.assign({}, ports)],
    ['Object.values', ports => Object.values(ports)],
  ])('copying the ports by %s throws, whatever uses are declared', (_, copied) => {
    expect(() => copied(portsOf())).toThrow('ports cannot be copied with a rest pattern or a spread')
    expect(() => copied(portsOf(...reaching.map(([, use]) => use)))).toThrow('ports cannot be copied')
  })

  test('scans and sweeps of whole tables require their declared uses', async () => {
    const scanning = (...uses: EndpointUse[]) => portsOf(...uses).store.scan('token', { index: 0, of: 1 })
    const sweeping = (...uses: EndpointUse[]) => portsOf(...uses).store.due({ kind: 'access', pks: ['a'] }, 0)
    expect(() => scanning('write', 'sweep')).toThrow('"scan"')
    expect(() => sweeping('write', 'scan')).toThrow('"sweep"')
    expect(engine).not.toHaveBeenCalled()
    for await (const { items } of scanning('scan')) expect(items).toEqual([])
    for await (const due of sweeping('sweep')) expect(due).toEqual([])
    expect(engine).toHaveBeenCalledTimes(2)
  })

  const role: Change = removeItem(key('role', 'auth_1', 'dev'))
  const minted: Change = createItem(key('token', 'acc'), token())
  const ring: Change = removeItem(key('keyring'))
  test.each<[string, Change, EndpointUse | undefined]>([
    ['an ordinary item', role, 'write'],
    ['a token', minted, 'mint'],
    ['a deletion of the keyring', ring, undefined],
  ])('a commit of %s requires the matching declared use', async (_, change, use) => {
    expect(() => portsOf('scan').store.commit([change], cluster)).toThrow('store.commit')
    expect(() => portsOf('scan').store.commit([removeItem(key('wrapped', 'a')), change], cluster)).toThrow(
      'store.commit',
    )
    expect(engine).not.toHaveBeenCalled()
    if (use) expect(await portsOf(use).store.commit([change], cluster)).toBe('done')
  })

  test('a commit that is limited to one attempt is attempted once', async () => {
    engine.mockResolvedValue({ statusCode: 400, body: { __type: 'x#ThrottlingException' } })
    const { store } = portsOf('write')
    const change = removeItem(key('role', 'auth_1', 'dev'))
    await expect(store.commit([change], cluster, { tries: 1 })).rejects.toMatchObject({ code: 'busy' })
    expect(engine).toHaveBeenCalledTimes(1)
  })
})
