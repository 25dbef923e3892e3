import { afterAll, expect, inject } from 'vitest'
import { checkoutRoot } from '../../../infra/checkout.ts'
import { isAlone, runnerState } from '../service/running-file.ts'

/**
 * The test file that ran before in this worker. The name of that test file is in `globalThis`, because a worker
 * lives longer than the modules of its tests.
 */
const worker = globalThis as { fileBefore?: string; backgroundWork?: (() => Promise<void>)[] }

/**
 * Modules that stay loaded, because compiling the OpenAPI document takes long. The kept modules keep only the data
 * that `takeFaults` and `tellAnswers` take.
 */
const CONTRACT = /\/test\/support\/service\/(contract|json-schema|resolved-document)\.ts$/

// Before and after a test file that is alone in its worker, the modules of tests are loaded again, so that
// services which another file started do not exist for this file. Modules of the product stay loaded: they
// keep nothing of one cluster, and loading them again takes longer than many test files.
const { evaluatedModules, filepath } = runnerState()
const { fileBefore } = worker
worker.fileBefore = filepath
if (fileBefore !== undefined && (isAlone(filepath) || isAlone(fileBefore)))
  for (const [path, module] of evaluatedModules.idToModuleMap)
    if (path.startsWith(`${checkoutRoot}test/`) && !CONTRACT.test(path))
      evaluatedModules.invalidateModule(module)

// The SDK's clients of this process call the service that was started last. Background work that outlived its
// test file would start its next job on the service of the next file, and the next file would count the calls
// of that job as its own.
afterAll(async () => {
  await Promise.all((worker.backgroundWork ?? []).map(settled => settled()))
})

// a function may swallow the refusal of a request by a policy, so refusals are checked after each file
afterAll(async () => {
  const { takeRefused, tellUsed } = await import('../iam/judge.ts')
  tellUsed(inject('ground').directory)
  expect(takeRefused(), 'requests that the policies of functions refuse').toEqual([])
})
