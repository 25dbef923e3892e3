import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCdkApp, unvalidatedAppProps } from '../../infra/app.ts'
import { makeEmptyBundles } from '../../infra/local/template/synth.ts'
import { parsePairPlan } from '../../infra/pair/settings.ts'
import { definePairStacks } from '../../infra/pair/stacks.ts'
import { licenceKey, licenceText } from '../builders/licence.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-pair-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Made {
  account: string
  region: string
  stackName: string
  template: string
}

let made: Made[]
beforeAll(() => {
  const key = licenceKey()
  const cluster = (account: string, region: string, name: string) => ({
    account,
    region,
    settings: {
      domain: {
        name: `auth-${name}.example.com`,
        certificateArn: `arn:aws:acm:${region}:${account}:certificate/one`,
      },
    },
  })
  const pair = parsePairPlan({
    both: {
      stage: 'prod',
      license: licenceText(key.privateKey),
      licensePublicKey: key.publicKey,
      canary: {},
    },
    clusters: {
      east: cluster('111122223333', 'us-east-1', 'east'),
      west: cluster('444455556666', 'us-west-2', 'west'),
    },
    drill: { schedule: 'rate(7 days)', policy: 'drill' },
  })
  makeEmptyBundles(`${folder}/bundles`)
  const app = createCdkApp(`${folder}/out`, unvalidatedAppProps)
  definePairStacks(app, pair, `${folder}/bundles`)
  made = app.synth().stacksRecursively.map(({ environment, stackName, templateFullPath }) => ({
    account: environment.account,
    region: environment.region,
    stackName,
    template: readFileSync(templateFullPath, 'utf8'),
  }))
})

describe('the CDK app of a pair of clusters', () => {
  test('creates three stacks in each of two regions and two accounts', () => {
    expect(made.map(({ account, region, stackName }) => `${account} ${region} ${stackName}`).sort()).toEqual(
      [
        ['111122223333', 'us-east-1'],
        ['444455556666', 'us-west-2'],
      ]
        .flatMap(place =>
          ['api', 'data', 'workers'].map(part => `${place.join(' ')} cloud-auth-prod-${part}`),
        )
        .sort(),
    )
  })

  test('gives each cluster the address of the other cluster, without references between their stacks', () => {
    const of = (region: string) =>
      made
        .filter(one => one.region === region)
        .map(({ template }) => template)
        .join('\n')
    const [east, west] = [of('us-east-1'), of('us-west-2')]
    expect(east).toContain('"DRILL_PEER": "https://auth-west.example.com"')
    expect(west).toContain('"DRILL_PEER": "https://auth-east.example.com"')
    expect(east).toContain('"API_ADDRESS": "https://auth-east.example.com"')
    for (const text of [east, west]) expect(text).not.toMatch(/"Fn::GetStackOutput": \{[^}]*"Region"/)
    expect(west).not.toContain('111122223333:function')
  })

  test('gives both clusters the same licence', () => {
    const licences = made.flatMap(({ template }) => template.match(/"LICENSE": "[^"]+"/g) ?? [])
    expect(licences.length).toBeGreaterThan(4)
    expect(new Set(licences).size).toBe(1)
  })
})
