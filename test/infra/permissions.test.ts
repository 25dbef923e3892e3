import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot, listFunctionNames } from '../../infra/checkout.ts'
import { renderPermissionSections, renderPermissionsPage } from '../../infra/docs/permissions-tables.ts'
import { stacksOf } from './synthesised.ts'

describe('docs/permissions.md', () => {
  test('equals the page that is generated from the templates (after a change: npm run permissions)', () => {
    expect(readFileSync(`${checkoutRoot}docs/permissions.md`, 'utf8')).toBe(renderPermissionsPage(stacksOf()))
  })

  test('names every action of every role', () => {
    const stacks = stacksOf()
    const actionsIn = (text: string) => new Set(text.match(/`[a-z0-9]+:[A-Z]\w+`/g))
    expect([...actionsIn(renderPermissionsPage(stacks))]).toEqual(
      expect.arrayContaining([...actionsIn(renderPermissionSections(stacks))]),
    )
  })
})

describe('the permissions of all roles', () => {
  test('have a section for every function, and a reason in every row', () => {
    const sections = renderPermissionSections(stacksOf()).split('\n## ').slice(1)
    const named = sections.map(one => one.split('\n')[0])
    expect(named).toEqual(expect.arrayContaining(listFunctionNames()))
    const rows = sections.flatMap(one => one.split('\n').filter(line => line.startsWith('| `')))
    expect(rows.length).toBeGreaterThan(200)
    for (const row of rows) expect(row.split(' | ').at(-1)?.length).toBeGreaterThan(15)
  })

  test('cannot be written for an action without a reason', () => {
    const stacks = stacksOf()
    const policy = Object.values(stacks.get('cloud-auth-test-api')?.Resources ?? {}).find(
      one => one.Type === 'AWS::IAM::Policy',
    )
    policy?.Properties.PolicyDocument.Statement.push({ Action: 's3:GetObject', Resource: '*' })
    expect(() => renderPermissionSections(stacks)).toThrow(/may do s3:GetObject .* Add a reason/)
  })
})
