import { describe, expect, test } from 'vitest'
import { pathsOf } from '../../../shared/api/endpoint.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import { rolesGroup } from '../../../shared/endpoints/roles.ts'
import { loadEndpointHelp } from '../../../shared/http/intake.ts'
import type { HttpRequest } from '../../../shared/http/request.ts'
import { callWith } from '../../support/requests/call.ts'

const fallback = { name: 'fallback', endpoints: [], all: async () => endpointGroups }

async function help(
  path: string,
  group = rolesGroup as Parameters<typeof loadEndpointHelp>[0],
  parts: object = {},
) {
  const request = { method: 'GET', query: [['help', '1']], ...parts } as unknown as HttpRequest
  const found = await loadEndpointHelp(group, request, path)
  if (!found || 'miss' in found) return undefined
  const { handle } = found.endpoint
  if (typeof handle !== 'function') throw new Error('help asks nobody')
  const outcome = await handle(callWith(), undefined)
  if (!('answer' in outcome) || outcome.answer.kind !== 'plain') throw new Error('help has no envelope')
  return { ...(outcome.answer.body as { help: string; see_also: string[] }), found }
}

describe('help for a path', () => {
  test('help lists the operations of a path, their access and their parameters', async () => {
    const { help: shown } = (await help('auth/aws/role/dev')) ?? expect.fail()
    expect(shown).toMatch(/^Path: \/auth\/:mount\/role\/:role\n/)
    for (const line of ['## POST: ', '## GET: ', '## DELETE: ', 'capability `read` on the path'])
      expect(shown).toContain(line)
    expect(shown).toMatch(/\n {4}bound_ami_id \(array or string\)\n {8}\S/)
  })

  test('help requires a valid token and an existing mount', async () => {
    const { found } = (await help('auth/aws/role/dev')) ?? expect.fail()
    expect(found).toMatchObject({ path: 'auth/aws/role/dev', pathParameters: { mount: 'aws', role: 'dev' } })
    expect(found.endpoint.access).toEqual({ by: 'token' })
    expect(found.endpoint.uses).toEqual([])
  })

  test('every endpoint has help', async () => {
    for (const group of endpointGroups)
      for (const path of group.endpoints.flatMap(pathsOf)) {
        const shown = await help(path.slice(1).replaceAll(/:\w+/g, 'x'), group)
        expect(shown?.help, path).toMatch(/## (GET|POST|LIST|DELETE): \S/)
      }
  })

  test.each([
    ['auth/aws', 'POST /auth/:mount/login', 'GET /sys/health'],
    ['auth/aws/', 'POST /auth/:mount/login', '/auth/token/create'],
    ['auth/aws/config', 'GET /auth/:mount/config/client', '/auth/:mount/login'],
    ['auth/token', 'POST /auth/token/create', ':mount'],
    ['sys', 'GET /sys/health', '/auth/:mount'],
  ])('the path prefix %s lists the endpoints below it', async (path, within, without) => {
    const shown = (await help(path, fallback)) ?? expect.fail()
    expect(shown.help).toContain(within)
    expect(shown.help).not.toContain(without)
    expect(shown.see_also).toEqual([...shown.see_also].sort())
  })

  test('the overview of a mount requires that the mount exists', async () => {
    expect((await help('auth/aws', fallback))?.found.pathParameters).toEqual({ mount: 'aws' })
    expect((await help('auth/token', fallback))?.found.pathParameters).toEqual({})
    expect((await help('auth', fallback))?.found.pathParameters).toEqual({})
  })

  test('the log line of a help request contains only words of the endpoint table', async () => {
    for (const path of ['auth/hvs.secret', 'auth/hvs.secret/config', 'auth/hvs.secret/role/hvs.secret'])
      expect((await help(path, fallback))?.found.endpoint.path ?? '', path).not.toContain('secret')
    expect((await help('auth/hvs.secret', fallback))?.found.endpoint.path).toBe('/auth/:mount?help')
  })

  test.each<[string, string, object]>([
    ['a request with an empty help parameter', 'auth/aws/role/dev', { query: [['help', '']] }],
    ['a request without help parameter', 'auth/aws/role/dev', { query: [] }],
    ['a POST request', 'auth/aws/role/dev', { method: 'POST' }],
    ['a path without endpoint', 'no/such/path', {}],
  ])('%s gets no help', async (_, path, parts) => {
    expect(await help(path, rolesGroup, parts)).toBeUndefined()
  })
})
