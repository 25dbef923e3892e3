import { describe, expect, test } from 'vitest'
import { answer, noContent } from '../../../shared/api/call.ts'
import { anyone, byPolicy, type Endpoint, endpoint, handlerOf, row } from '../../../shared/api/endpoint.ts'
import { listFields } from '../../../shared/api/listing.ts'
import { callWith } from '../../support/requests/call.ts'
import { mount } from '../tokens/support.ts'

const handle = () => answer(noContent())
const nowhere = () => answer(noContent(['nowhere']))
const common = { method: 'POST', summary: 'x', access: anyone, answers: 'nothing', handle } as const

const cluster = { record: {}, readAt: 0 }
const handlerAt = (row: Endpoint, parts: Parameters<typeof callWith>[0]) => handlerOf(row, callWith(parts))

describe('what handles a call', () => {
  const below = endpoint({ ...common, path: '/auth/:mount/thing' })

  test('below a mount: the handler, where the mount is there', () => {
    expect(handlerAt(below, { cluster, mount: mount() })).toBe(handle)
    expect(
      handlerAt(endpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
        mount: mount(),
      }),
    ).toBe(handle)
  })

  test('below a mount that does not exist: what the row says of that, and nothing else', () => {
    expect(
      handlerAt(endpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
      }),
    ).toBe(nowhere)
    expect(() => handlerAt(below, { cluster })).toThrow('without one')
  })

  test('elsewhere a mount is not asked for', () => {
    expect(handlerAt(endpoint({ ...common, path: '/sys/thing' }), { cluster })).toBe(handle)
    expect(handlerAt(endpoint({ ...common, path: '/auth/token/thing' }), { cluster })).toBe(handle)
  })

  test('an endpoint meets a cluster that is not initialised only where it serves always', () => {
    const alive = endpoint({ ...common, path: '/sys/alive', serves: 'always' })
    expect(handlerAt(alive, {})).toBe(handle)
    for (const serves of ['active', 'primary', 'secondary', 'dr', 'demotion'] as const)
      expect(() => handlerAt(endpoint({ ...common, path: '/sys/thing', serves }), {})).toThrow(
        expect.objectContaining({ code: 'not_initialised' }),
      )
  })
})

describe('what a row’s handler is given, by type', () => {
  const row = { ...common, access: anyone }

  test('the mount below a mount, and the cluster wherever one has to be initialised', () => {
    endpoint({ ...row, path: '/auth/:mount/thing', handle: call => answer(noContent([call.mount.path])) })
    endpoint({ ...row, path: '/sys/thing', handle: call => answer(noContent([call.cluster.record.name])) })
    // @ts-expect-error there is no mount
    endpoint({ ...row, path: '/sys/thing', handle: call => answer(noContent([call.mount.path])) })
    const alive = { ...row, path: '/sys/alive', serves: 'always' } as const
    // @ts-expect-error there may be no cluster yet
    endpoint({ ...alive, handle: call => answer(noContent([call.cluster.record.name])) })
    const elsewhere = endpoint({
      ...alive,
      handle: call => answer(noContent([call.cluster?.record.name ?? ''])),
    })
    expect(elsewhere.serves).toBe('always')
  })
})

describe('a row that says neither who may call nor what it answers', () => {
  const said = { path: '/sys/thing', summary: 'A thing', handle: () => answer(noContent()) } as const
  test.each([
    ['GET', row.get(said), 'read', 'data', {}],
    ['POST', row.post(said), 'update', 'nothing', {}],
    ['LIST', row.list(said), 'list', 'keys', listFields],
    ['DELETE', row.delete(said), 'delete', 'nothing', {}],
  ])('%s asks for the capability of its method', (method, made, capability, answers, fields) => {
    expect(made).toMatchObject({ method, access: byPolicy(capability as 'read'), answers })
    expect(made.fields).toEqual(fields)
  })

  test('what a row says counts', () => {
    const made = row.get({ ...said, access: anyone, answers: 'plain' })
    expect(made).toMatchObject({ access: anyone, answers: 'plain' })
  })
})
