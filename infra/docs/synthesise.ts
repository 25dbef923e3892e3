import { mkdirSync } from 'node:fs'
import type { App } from 'aws-cdk-lib'
import { createApp, unvalidated } from '../app.ts'
import { makeNoBundles } from '../local/template/synth.ts'
import { readSettings } from '../settings.ts'
import { defineStacks } from '../stacks/cluster.ts'

/** Creates an app with the stacks of one deployment and empty functions. @param directory output directory */
export function createUndeployedApp(settings: Record<string, unknown>, directory: string): App {
  mkdirSync(directory, { recursive: true })
  makeNoBundles(`${directory}/bundles`)
  const app = createApp(`${directory}/out`, unvalidated)
  defineStacks(app, { settings: readSettings(settings), bundles: `${directory}/bundles` })
  return app
}
