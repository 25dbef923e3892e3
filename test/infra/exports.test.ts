import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkoutRoot } from '../../infra/checkout.ts'
import {
  type Exports,
  exportedDeployments,
  exportsFile,
  findExportFaults,
  listExports,
} from '../support/checks/exports.ts'
import { stacksOf } from './synthesised.ts'

const listed = JSON.parse(readFileSync(checkoutRoot + exportsFile, 'utf8')) as Exports

describe('exports, which deployed stacks import', () => {
  test.each(Object.entries(exportedDeployments))(
    'of the deployment %s equal the exports in the recorded file',
    (front, settings) => {
      const stacks = stacksOf(settings)
      expect(Object.keys(listed[front] ?? {})).toEqual([...stacks.keys()])
      for (const [stack, template] of stacks)
        expect(findExportFaults(listed[front]?.[stack] ?? [], listExports(template)), stack).toEqual([])
    },
  )

  test('a dropped export and an unlisted export are reported', () => {
    const faults = findExportFaults(['data:Kept', 'data:Dropped'], ['data:Kept', 'data:New'])
    expect(faults).toEqual([
      expect.stringMatching(/^data:Dropped is no longer exported, /),
      expect.stringMatching(/^data:New is missing in .*exports\.json\. Run npm run exports$/),
    ])
  })
})
