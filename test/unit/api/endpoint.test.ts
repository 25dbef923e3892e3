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

describe('the handler of a call', () => {
  const below = endpoint({ ...common, path: '/auth/:mount/thing' })

  test("below an existing mount the row's handler is called", () => {
    expect(handlerAt(below, { cluster, mount: mount() })).toBe(handle)
    expect(
      handlerAt(endpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
        mount: mount(),
      }),
    ).toBe(handle)
  })

  test('below a missing mount only handleWithoutMount is called', () => {
    expect(
      handlerAt(endpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
      }),
    ).toBe(nowhere)
    expect(() => handlerAt(below, { cluster })).toThrow('without one')
  })

  test('outside mounts no mount is required', () => {
    expect(handlerAt(endpoint({ ...common, path: '/sys/thing' }), { cluster })).toBe(handle)
    expect(handlerAt(endpoint({ ...common, path: '/auth/token/thing' }), { cluster })).toBe(handle)
  })

  test('on an uninitialised cluster only `always` endpoints are served', () => {
    const alive = endpoint({ ...common, path: '/sys/alive', serves: 'always' })
    expect(handlerAt(alive, {})).toBe(handle)
    for (const serves of ['active', 'primary', 'secondary', 'dr', 'demotion'] as const)
      expect(() => handlerAt(endpoint({ ...common, path: '/sys/thing', serves }), {})).toThrow(
        expect.objectContaining({ code: 'not_initialised' }),
      )
  })
})

describe("the type of a handler's call", () => {
  const row = { ...common, access: anyone }

  test('the type has a mount below mounts, and a cluster if initialisation is required', () => {
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

describe('default access and response kind', () => {
  const said = { path: '/sys/thing', summary: 'A thing', handle: () => answer(noContent()) } as const
  test.each([
    ['GET', row.get(said), 'read', 'data', {}],
    ['POST', row.post(said), 'update', 'nothing', {}],
    ['LIST', row.list(said), 'list', 'keys', listFields],
    ['DELETE', row.delete(said), 'delete', 'nothing', {}],
  ])('%s requires the capability of its method', (method, made, capability, answers, fields) => {
    expect(made).toMatchObject({ method, access: byPolicy(capability as 'read'), answers })
    expect(made.fields).toEqual(fields)
  })

  test('the row overrides the defaults', () => {
    const made = row.get({ ...said, access: anyone, answers: 'plain' })
    expect(made).toMatchObject({ access: anyone, answers: 'plain' })
  })
})
