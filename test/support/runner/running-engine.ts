import { rmSync } from 'node:fs'
import type { TestProject } from 'vitest/node'
import { startEngine } from '../../../infra/local/engine/engine.ts'
import { makeTemporaryDirectory } from '../../../infra/local/os/temporary.ts'
import { createDocumentAuthority } from '../../../infra/local/provider/documents/authority.ts'
import { readAssembly } from '../../../infra/local/template/assembly.ts'
import { synthesiseTemplates } from '../../../infra/local/template/synth.ts'
import { TEST_PLACE } from '../iam/place.ts'
import { policiesIn } from '../iam/policies.ts'
import '../service/service.ts'

/** Starts one DynamoDB engine for all services of a run. Each service has its own tables in the engine. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const directory = makeTemporaryDirectory()
  const assembly = await synthesiseTemplates({ legacySignatures: false })
  const model = readAssembly(assembly, TEST_PLACE)
  const policies = policiesIn(assembly, TEST_PLACE)
  const engine = await startEngine({
    directory,
    tables: [],
    region: 'us-east-1',
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
  })
  provide('ground', {
    engine: engine.url,
    model,
    policies,
    authority: await createDocumentAuthority(),
    directory,
  })
  return async () => {
    await engine.close()
    rmSync(directory, { recursive: true, force: true })
  }
}
