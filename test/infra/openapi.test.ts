import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { root, version } from '../../infra/checkout.ts'
import { pathsOf } from '../../shared/api/endpoint.ts'
import { groups } from '../../shared/endpoints/all.ts'
import { openApi } from '../../shared/endpoints/openapi.ts'

interface Operation {
  parameters: { name: string; in: string; required?: boolean }[]
  security?: unknown[]
  requestBody?: { content: Record<string, { schema: { properties: Record<string, unknown> } }> }
  deprecated?: boolean
}

const document = openApi(groups, version) as { paths: Record<string, Record<string, Operation>> }

describe('docs/openapi.json', () => {
  test('is what the endpoint table says: `npm run openapi`', () => {
    expect(JSON.parse(readFileSync(`${root}docs/openapi.json`, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(document)),
    )
  })

  test('has every path of every row, and no other', () => {
    const wanted = groups
      .flatMap(group => group.endpoints.flatMap(pathsOf))
      .map(path => path.replace(/:(\w+)/g, '{$1}'))
    expect(new Set(Object.keys(document.paths))).toEqual(new Set(wanted))
  })

  test('tells parameters of path, query and body apart, and what needs no token', () => {
    const { paths } = document
    expect(paths['/auth/{mount}/login']?.['post']).toMatchObject({ security: [] })
    const role = paths['/auth/{mount}/role/{role}']?.['post']
    expect(role?.parameters.map(one => one.name)).toEqual(['mount', 'role'])
    expect(Object.keys(role?.requestBody?.content['application/json']?.schema.properties ?? {})).toEqual(
      expect.arrayContaining(['bound_ami_id', 'token_ttl', 'bound_iam_principal_arn']),
    )
    expect(paths['/auth/{mount}/roles']?.['get']?.parameters).toContainEqual(
      expect.objectContaining({ name: 'list', required: true }),
    )
    expect(paths['/auth/{mount}/identity-whitelist/{instance_id}']?.['get']).toMatchObject({
      deprecated: true,
    })
    expect(paths['/auth/{mount}/identity-accesslist/{instance_id}']?.['get']).not.toHaveProperty('deprecated')
  })
})
