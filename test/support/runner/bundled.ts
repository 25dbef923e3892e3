import { buildPrograms } from '../../../infra/build/command.ts'
import { synthesiseAndBundle } from '../../../infra/local/template/synth.ts'

/** Makes bundles, templates and the command before several processes want them at once. */
export default async function setup(): Promise<void> {
  await Promise.all([synthesiseAndBundle({ legacySignatures: false }), buildPrograms()])
}
