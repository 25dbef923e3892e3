import { mkdirSync } from 'node:fs'
import type { App } from 'aws-cdk-lib'
import { createCdkApp, unvalidatedAppProps } from '../app.ts'
import { makeEmptyBundles } from '../local/template/synth.ts'
import { readSettings } from '../settings.ts'
import { defineStacks } from '../stacks/cluster.ts'

/** Creates an app with the stacks of one deployment and empty functions. @param directory output directory */
export function createUndeployedApp(settings: Record<string, unknown>, directory: string): App {
  mkdirSync(directory, { recursive: true })
  makeEmptyBundles(`${directory}/bundles`)
  const app = createCdkApp(`${directory}/out`, unvalidatedAppProps)
  defineStacks(app, { settings: readSettings(settings), bundles: `${directory}/bundles` })
  return app
}
