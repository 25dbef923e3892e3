import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { functionNames, root } from '../../infra/checkout.ts'
import { permissionsPage } from '../../infra/docs/permissions-tables.ts'
import { stacksOf } from './synthesised.ts'

const page = readFileSync(`${root}docs/permissions.md`, 'utf8')

describe('docs/permissions.md', () => {
  test('is what the templates say: npm run permissions', () => {
    expect(page).toBe(permissionsPage(stacksOf()))
  })

  test('has a section for every function, whose rows have their reasons', () => {
    const sections = page.split('\n## ').slice(1)
    const named = sections.map(one => one.split('\n')[0])
    expect(named).toEqual(expect.arrayContaining(functionNames()))
    const rows = sections.flatMap(one => one.split('\n').filter(line => line.startsWith('| `')))
    expect(rows.length).toBeGreaterThan(200)
    for (const row of rows) expect(row.split(' | ').at(-1)?.length).toBeGreaterThan(15)
  })

  test('refuses what nobody gave a reason for', () => {
    const stacks = stacksOf()
    const policy = Object.values(stacks.get('cloud-auth-test-api')?.Resources ?? {}).find(
      one => one.Type === 'AWS::IAM::Policy',
    )
    policy?.Properties.PolicyDocument.Statement.push({ Action: 's3:GetObject', Resource: '*' })
    expect(() => permissionsPage(stacks)).toThrow(/why may .* do s3:GetObject/)
  })
})
