import { buildPrograms } from '../../../infra/build/command.ts'
import { synthesiseAndBundle } from '../../../infra/local/template/synth.ts'

/** Builds bundles, templates and the command before several processes need them at once. */
export default async function setup(): Promise<void> {
  await Promise.all([synthesiseAndBundle({ legacySignatures: false }), buildPrograms()])
}
