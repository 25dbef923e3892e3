import { root } from '../../infra/checkout.ts'

/** What the runner has loaded in this worker; it is no public part of it. */
interface Loaded {
  idToModuleMap: ReadonlyMap<string, object>
  invalidateModule(module: object): void
}

// before each file: what an earlier one has started in modules of the tests is not there for this one. Modules of the
// product keep nothing of one cluster, and are shared: to load them again takes longer than many a file
const { evaluatedModules } = (globalThis as unknown as { __vitest_worker__: { evaluatedModules: Loaded } })
  .__vitest_worker__
for (const [path, module] of evaluatedModules.idToModuleMap)
  if (path.startsWith(`${root}test/`)) evaluatedModules.invalidateModule(module)
