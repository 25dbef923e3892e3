import { readFileSync } from 'node:fs'
import { parse } from '@cdktf/hcl2json'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import { bindingNames } from '../../shared/auth-method/roles/bindings.ts'
import { bounds } from '../../shared/values/bounds.ts'
import { standingCostsOfCluster } from '../bench/pair-costs.ts'

// Tests pages that repeat values from the code. A test fails when a value changes in the code only.

const { JOURNAL_RETENTION_DAYS: kept, JOURNAL_PROMISE_DAYS: promised, TERM_KEPT_DAYS: term } = bounds
const read = (page: string): string => readFileSync(`${checkoutRoot}docs/${page}`, 'utf8')

test.each([
  ['spec/journal.md', `Journal entries are kept for ${kept} days`],
  ['look-up/limits.md', `keeps entries for ${kept} days`],
  ['look-up/limits.md', `the promised ${promised} days`],
  ['do/troubleshooting.md', `longer than the primary keeps its journal (${promised} days)`],
  ['spec/keys.md', `${term} days have passed since the term became unused`],
])('the page %s has the sentence "%s"', (page, sentence) => expect(read(page)).toContain(sentence))

test('the page on costs has the standing costs of one cluster', () => {
  const { keys = 0, alarms = 0, metrics = 0 } = standingCostsOfCluster()
  const page = read('look-up/costs.md')
  expect(page).toContain(`| KMS key | ${keys.toFixed(2)} |`)
  expect(page).toContain(`| alarms ${alarms.toFixed(2)}, metrics ${metrics.toFixed(2)} |`)
})

test('the examples of the page on tools for Vault are valid HCL', async () => {
  const blocks = [...read('do/vault-tools.md').matchAll(/^```hcl\n([\s\S]*?)^```/gm)]
  const parsed = await Promise.all(blocks.map(([, block = '']) => parse('example.hcl', block)))
  expect(parsed).toMatchObject([
    { auto_auth: [{ method: { aws: [{ mount_path: 'auth/aws' }] } }] },
    { resource: { vault_aws_auth_backend_role: { shop: [{ auth_type: 'iam' }] } } },
  ])
})

test('the page on ec2 logins has a row for each bound', () => {
  const rows = read('spec/login-ec2.md')
    .split('\n')
    .filter(line => line.startsWith('| `bound_'))
    .join('\n')
  expect(bindingNames.filter(name => !rows.includes(`\`${name}\``))).toEqual([])
})

test.each(['DisabledStatus', 'PrimaryStatus', 'SecondaryStatus'])(
  'the page on the status has each field of %s',
  name => {
    const { components } = JSON.parse(read('openapi.json')) as {
      components: { schemas: Record<string, { properties: object }> }
    }
    const fields = Object.keys(components.schemas[name]?.properties ?? {})
    const page = read('spec/status.md')
    expect(fields.length).toBeGreaterThan(2)
    expect(fields.filter(field => !page.includes(`\`${field}`))).toEqual([])
  },
)
