import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createUndeployedApp } from '../../infra/docs/synthesise.ts'
import { deployments } from '../support/checks/deployments.ts'
import { findSuppressions, suppressions } from '../support/checks/suppressions.ts'

const folder = mkdtempSync(`${tmpdir()}/cloud-auth-nag-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Found {
  rule: string
  /** path of the construct */
  where: string
  says: string
}

const found: Found[] = []
beforeAll(() => {
  for (const [name, settings] of Object.entries(deployments)) {
    const app = createUndeployedApp(settings, `${folder}/${name}`)
    for (const pack of [new AwsSolutionsChecks(app), new ServerlessChecks(app)])
      for (const { ruleName, description, violatingResources } of pack.validateScope(app).violations)
        for (const { constructPath = '' } of violatingResources)
          found.push({ rule: ruleName, where: `${name} ${constructPath}`, says: description })
  }
})

describe('cdk-nag', () => {
  test('checks every deployment of the table, and finds known violations', () => {
    expect(found.length).toBeGreaterThan(50)
  })

  test('finds no violation without a suppression', () => {
    const open = found.filter(({ rule, where }) => findSuppressions('cdk-nag', rule, where).length === 0)
    expect([
      ...new Set(
        open.map(
          ({ rule, where, says }) => `${rule} ${where.replace(/^.*?-(?=api|data|workers)/, '')}: ${says}`,
        ),
      ),
    ]).toEqual([])
  })

  test('leaves no suppression unused', () => {
    const used = new Set(found.flatMap(({ rule, where }) => findSuppressions('cdk-nag', rule, where)))
    expect(suppressions.filter(one => one.by === 'cdk-nag' && !used.has(one)).map(one => one.rule)).toEqual(
      [],
    )
  })

  test('has a reason for every suppression', () => {
    for (const { rule, reason } of suppressions) expect(reason.length, rule).toBeGreaterThan(25)
  })
})
