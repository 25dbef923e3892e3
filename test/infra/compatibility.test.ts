import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const rows = read('docs/look-up/compatibility.md')
  .split('\n')
  .filter(line => line.startsWith('|'))

describe('docs/look-up/compatibility.md', () => {
  test.each([
    ['neutral values of ec2-only fields on iam roles', /type iam.*only ec2.*\| accepted \|/],
    ['the capability for config/identity', /`POST config\/identity` \| `update`/],
    ['the token type of the mount', /token type of the mount.*the mount's type/],
    ['the body for STS', /body for STS.*exactly `Action=GetCallerIdentity&Version=2011-06-15`/],
    ['GET login without a token', /GET `login` without a token \| 403/],
  ])("states the project's decision about %s", (_, row) => {
    expect(rows.filter(line => row.test(line))).toHaveLength(1)
  })

  test('lists the client versions that the tests run', () => {
    const { devDependencies } = JSON.parse(read('package.json')) as {
      devDependencies: Record<string, string>
    }
    for (const client of ['node-vault', 'node-vault-client'])
      expect(rows).toContainEqual(
        expect.stringContaining(`| Node, \`${client}\` | ${devDependencies[client]} |`),
      )
  })

  test('says that API Gateway rejects the verb LIST', () => {
    expect(read('docs/look-up/compatibility.md')).toMatch(/the verb LIST does not pass API Gateway/)
  })
})
