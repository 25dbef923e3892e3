import { describe, expect, test } from 'vitest'
import { answer, noContentAnswer } from '../../../shared/api/call.ts'
import {
  allowAnyone,
  allowByPolicy,
  declareEndpoint,
  type Endpoint,
  endpointRow,
  handlerOf,
} from '../../../shared/api/endpoint.ts'
import { listFields } from '../../../shared/api/listing.ts'
import { callWith } from '../../support/requests/call.ts'
import { mount } from '../tokens/support.ts'

const handle = () => answer(noContentAnswer())
const nowhere = () => answer(noContentAnswer(['nowhere']))
const common = { method: 'POST', summary: 'x', access: allowAnyone, answers: 'nothing', handle } as const

const cluster = { record: {}, readAt: 0 }
const handlerAt = (row: Endpoint, parts: Parameters<typeof callWith>[0]) => handlerOf(row, callWith(parts))

describe('the handler of a call', () => {
  const below = declareEndpoint({ ...common, path: '/auth/:mount/thing' })

  test("below an existing mount the row's handler is called", () => {
    expect(handlerAt(below, { cluster, mount: mount() })).toBe(handle)
    expect(
      handlerAt(declareEndpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
        mount: mount(),
      }),
    ).toBe(handle)
  })

  test('below a missing mount only handleWithoutMount is called', () => {
    expect(
      handlerAt(declareEndpoint({ ...common, path: '/auth/:mount/thing', handleWithoutMount: nowhere }), {
        cluster,
      }),
    ).toBe(nowhere)
    expect(() => handlerAt(below, { cluster })).toThrow('without a mount')
  })

  test('outside mounts no mount is required', () => {
    expect(handlerAt(declareEndpoint({ ...common, path: '/sys/thing' }), { cluster })).toBe(handle)
    expect(handlerAt(declareEndpoint({ ...common, path: '/auth/token/thing' }), { cluster })).toBe(handle)
  })

  test('on an uninitialised cluster only `always` endpoints are served', () => {
    const alive = declareEndpoint({ ...common, path: '/sys/alive', serves: 'always' })
    expect(handlerAt(alive, {})).toBe(handle)
    for (const serves of ['active', 'primary', 'secondary', 'dr', 'demotion'] as const)
      expect(() => handlerAt(declareEndpoint({ ...common, path: '/sys/thing', serves }), {})).toThrow(
        expect.objectContaining({ code: 'not_initialised' }),
      )
  })
})

describe("the type of a handler's call", () => {
  const row = { ...common, access: allowAnyone }

  test('the type has a mount below mounts, and a cluster if initialisation is required', () => {
    declareEndpoint({
      ...row,
      path: '/auth/:mount/thing',
      handle: call => answer(noContentAnswer([call.mount.path])),
    })
    declareEndpoint({
      ...row,
      path: '/sys/thing',
      handle: call => answer(noContentAnswer([call.cluster.record.name])),
    })
    declareEndpoint({
      ...row,
      path: '/sys/thing',
      // @ts-expect-error there is no mount
      handle: call => answer(noContentAnswer([call.mount.path])),
    })
    const alive = { ...row, path: '/sys/alive', serves: 'always' } as const
    // @ts-expect-error there may be no cluster yet
    declareEndpoint({ ...alive, handle: call => answer(noContentAnswer([call.cluster.record.name])) })
    const elsewhere = declareEndpoint({
      ...alive,
      handle: call => answer(noContentAnswer([call.cluster?.record.name ?? ''])),
    })
    expect(elsewhere.serves).toBe('always')
  })
})

describe('default access and response kind', () => {
  const said = { path: '/sys/thing', summary: 'A thing', handle: () => answer(noContentAnswer()) } as const
  test.each([
    ['GET', endpointRow.get(said), 'read', 'data', {}],
    ['POST', endpointRow.post(said), 'update', 'nothing', {}],
    ['LIST', endpointRow.list(said), 'list', 'keys', listFields],
    ['DELETE', endpointRow.delete(said), 'delete', 'nothing', {}],
  ])('%s requires the capability of its method', (method, made, capability, answers, fields) => {
    expect(made).toMatchObject({ method, access: allowByPolicy(capability as 'read'), answers })
    expect(made.fields).toEqual(fields)
  })

  test('the row overrides the defaults', () => {
    const made = endpointRow.get({ ...said, access: allowAnyone, answers: 'plain' })
    expect(made).toMatchObject({ access: allowAnyone, answers: 'plain' })
  })
})
