import { bundlesOfSources } from '../../infra/local/synth.ts'

/** Makes the bundles before hosts in several processes want them at once. */
export default async function setup(): Promise<void> {
  await bundlesOfSources()
}
