import { InvocationFault } from '../lambda/environment.ts'
import type { Lambdas } from '../lambda/lambdas.ts'
import type { Listening } from '../os/loopback.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import type { Model } from '../template/assembly.ts'
import { type Count, ofRule } from '../template/counts.ts'
import { systemTime } from './dependencies.ts'
import { startMachines } from './machines.ts'
import { startStatesService } from './service.ts'
import { openStateStore } from './store.ts'
import { FunctionFault } from './task.ts'

interface WorkflowOptions {
  /** access keys of allowed callers of the API */
  keys: readonly AccessKeyPair[]
  count?: Count | undefined
}

/**
 * Runs the template's state machines and their API. Executions are stored in the directory, and a start resumes
 * unfinished ones.
 */
export async function startWorkflows(
  { machines: models, endsRule }: Pick<Model, 'machines' | 'endsRule'>,
  directory: string,
  lambdas: Lambdas,
  { keys, count = () => undefined }: WorkflowOptions,
): Promise<Listening> {
  const machines = startMachines({
    store: openStateStore(`${directory}/states.sqlite`),
    time: systemTime,
    definitions: new Map(models.map(({ arn, definition }) => [arn, definition])),
    onFailure: () => count(ofRule(endsRule)),
    invoke: (name, event) => lambdas.invoke(name.split(':').at(-1) ?? '', event).catch(told),
  })
  const service = await startStatesService(machines, keys)
  return {
    url: service.url,
    close: async () => {
      await service.close()
      await machines.close()
    },
  }
}

/** Converts a failed invocation to the error that Lambda reports to Step Functions. */
function told(error: unknown): never {
  if (!(error instanceof InvocationFault)) throw error
  throw new FunctionFault(error.timedOut ? 'Sandbox.Timedout' : error.type, error.message)
}
