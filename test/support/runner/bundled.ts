import { synthesiseAndBundle } from '../../../infra/local/template/synth.ts'

/** Makes bundles and templates before hosts in several processes want them at once. */
export default async function setup(): Promise<void> {
  await synthesiseAndBundle({ legacySignatures: false })
}
