import { afterAll, expect, inject } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { isAlone, runnerState } from '../service/running-file.ts'

/** The file that ran before in this worker; what is said of a worker outlives the modules of its tests. */
const worker = globalThis as { fileBefore?: string; backgroundWork?: (() => Promise<void>)[] }

/** Keeps what it compiled of the document of the interface, and of each file only what `takeFaults` and `tellAnswers` take. */
const CONTRACT = /\/test\/support\/service\/(contract|json-schema|resolved-document)\.ts$/

// before a file that is alone, and behind one: what another file has started in modules of the tests is not there for this
// one. Modules of the product keep nothing of one cluster, and are shared: to load them again takes longer than many a file
const { evaluatedModules, filepath } = runnerState()
const { fileBefore } = worker
worker.fileBefore = filepath
if (fileBefore !== undefined && (isAlone(filepath) || isAlone(fileBefore)))
  for (const [path, module] of evaluatedModules.idToModuleMap)
    if (path.startsWith(`${checkoutRoot}test/`) && !CONTRACT.test(path))
      evaluatedModules.invalidateModule(module)

// The SDK's clients of this process call the service that was started last. Background work that outlived its file would
// therefore start its next job there, and the next file would count that job's calls as its own.
afterAll(async () => {
  await Promise.all((worker.backgroundWork ?? []).map(settled => settled()))
})

// the caller may swallow a refusal by a policy, so it is checked here
afterAll(async () => {
  const { takeRefused, tellUsed } = await import('../iam/judge.ts')
  tellUsed(inject('ground').directory)
  expect(takeRefused(), 'requests that the policies of functions refuse').toEqual([])
})
