import { InvocationFault } from '../lambda/environment.ts'
import type { LocalLambdas } from '../lambda/lambdas.ts'
import type { ListeningServer } from '../os/loopback.ts'
import type { AccessKeyPair } from '../provider/wire/signed-server.ts'
import type { AssemblyModel } from '../template/assembly.ts'
import { systemStatesClock } from './dependencies.ts'
import { startStateMachines } from './machines.ts'
import { startStatesService } from './service.ts'
import { openStateStore } from './store.ts'
import { FunctionFault } from './task.ts'

interface WorkflowOptions {
  /** access keys of allowed callers of the API */
  keys: readonly AccessKeyPair[]
  /** called for each execution that did not succeed */
  onFailure?: (() => void) | undefined
}

/**
 * Runs the template's state machines and the Step Functions API. Executions are stored in the directory, and
 * a start resumes unfinished executions.
 */
export async function startLocalWorkflows(
  { machines: models }: Pick<AssemblyModel, 'machines'>,
  directory: string,
  lambdas: LocalLambdas,
  { keys, onFailure = () => undefined }: WorkflowOptions,
): Promise<ListeningServer> {
  const machines = startStateMachines({
    store: openStateStore(`${directory}/states.sqlite`),
    time: systemStatesClock,
    definitions: new Map(models.map(({ arn, definition }) => [arn, definition])),
    onFailure,
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
