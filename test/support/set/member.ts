import type { Context } from 'aws-lambda'
import type { AssemblyModel } from '../../../infra/local/template/assembly.ts'
import { endpointGroups } from '../../../shared/endpoints/all.ts'
import type { FrontAnswer } from '../../../shared/http/events.ts'
import { createGroupHandler } from '../../../shared/http/lambda.ts'
import { handleRestoredCopy } from '../../../shared/journal/close-copy.ts'
import { fillJournalHoles } from '../../../shared/journal/density.ts'
import type { JournalHead } from '../../../shared/journal/head.ts'
import { sendRoleEvents } from '../../../shared/journal/send-role-events.ts'
import { finishStepDown } from '../../../shared/journal/step-down.ts'
import { createNotifier } from '../../../shared/link/outgoing/notify.ts'
import { createLinkService } from '../../../shared/link/serve/service.ts'
import type { ClusterRecord } from '../../../shared/model/cluster.ts'
import type { Ports } from '../../../shared/ports.ts'
import { maintainOperation } from '../../../shared/replication/operation/operate.ts'
import { trimJournal } from '../../../shared/replication/primary/maintain.ts'
import { maintainReencryption } from '../../../shared/replication/reencryption/decide.ts'
import { createPeerConnector } from '../../../shared/replication/secondary/connect.ts'
import { key } from '../../../shared/storage/kinds.ts'
import type { TableNames } from '../../../shared/storage/requests.ts'
import {
  createHourlyHandler,
  createJobHandler,
  createJournalHandler,
  createPullHandler,
} from '../../../shared/workers/handlers.ts'
import { createOperationHandler } from '../../../shared/workers/operations.ts'
import { HOST_REFRESHES, HOST_RETURNS } from '../../../shared/workers/workers.ts'
import { asFunction } from '../iam/judge.ts'
import type { CallOptions, Reply } from '../service/api.ts'
import { checked } from '../service/contract.ts'
import { frontEvent, replyOf, routing } from '../service/front.ts'
import { type PortSettings, portsOf } from './member-ports.ts'
import { addressFor, type network } from './network.ts'
import type { Simulation } from './simulation.ts'
import { workflowDriver } from './workflow-driver.ts'

/** A deployed cluster in this process: its tables, its Lambdas, and their ports. */
export type SetMember = ReturnType<typeof setMember>

export interface MemberSettings extends Omit<PortSettings, 'clock' | 'carryTo'> {
  model: AssemblyModel
  simulation: Simulation
  net: ReturnType<typeof network>
  tables: Required<TableNames>
  /** receives every answer whose process still exists */
  answered: (cluster: string, request: string, status: number) => void
}

/**
 * Time limit of a Lambda in seconds; length of a short run of the puller in milliseconds, and the time that
 * the run reserves for its end.
 */
const API_S = 29
const WORKER_S = 600
const PULL_MS = 700
const REST_S = 8

export function setMember(settings: MemberSettings) {
  const { name, simulation, net, tables, kms } = settings
  let ahead = 0
  const clock = { ...simulation.clock, now: () => simulation.clock.now() + ahead }
  const address = addressFor(name)
  const { ports, as, told, audited, events, newMemory } = portsOf(
    { ...settings, clock, carryTo: net.carryFrom(name) },
    {
      background: payload => simulation.start(() => lambdas.job(payload)),
      wake: () => simulation.start(() => lambdas.pull()),
      workflow: (...given) => lambdas.workflow(...given),
    },
  )
  const lambdas = lambdasOf(settings, as)
  const request = requester(settings, as)
  let token = ''
  /** sends a request as its function serves it, with the root token unless another token is given */
  const rooted = (method: string, path: string, body?: unknown, options: CallOptions = {}): Promise<Reply> =>
    request(method, path, body, { token, ...options })
  const linked = createLinkService(as('link'))
  net.join(name, (...given) => asFunction('link', () => linked(...given)))
  return {
    name,
    address,
    ports,
    as,
    told,
    audited,
    events,
    tables,
    kms,
    ...lambdas,
    request: rooted,
    /** makes new processes share no keyring in memory with earlier processes */
    newMemory,
    /** sends a request that must succeed */
    ok: async (...given: Parameters<typeof rooted>): Promise<Reply> => {
      const reply = await rooted(...given)
      if (reply.status < 300) return reply
      const cause = told.findLast(({ level }) => level === 'error')
      throw new Error(`${name}: ${given[0]} ${given[1]}: ${reply.status} ${reply.text}`, { cause })
    },
    token: () => token,
    /** sets the error of the cluster's clock in milliseconds; 0: none */
    setClock: (ms: number) => {
      ahead = ms
    },
    /**
     * recovery shares of the initialisation: three shares make the recovery key of this cluster, and of the
     * set that it begins
     */
    shares: [] as string[],
    /** the token of requests */
    useToken: (text: string) => {
      token = text
    },
    record: async (): Promise<ClusterRecord> => {
      const [item] = await ports.store.read([key('cluster')])
      if (!item) throw new Error(`${name} is not initialised`)
      return item.data
    },
    head: async (): Promise<JournalHead> => {
      const head = await ports.journal.head()
      if (!head) throw new Error(`${name} has no journal`)
      return head
    },
  }
}

const contextOf = ({ clock, entropy }: Pick<Ports, 'clock' | 'entropy'>, seconds: number): Context => {
  const deadline = clock.now() + seconds * 1000
  return {
    functionName: 'in-process',
    awsRequestId: entropy.uuid(),
    getRemainingTimeInMillis: () => deadline - clock.now(),
  } as Context
}

type As = ReturnType<typeof portsOf>['as']

/** Runs the workers of a cluster. Each run is a process of its own. */
function lambdasOf({ name, simulation, net, entropy }: MemberSettings, as: As) {
  const { clock, start } = simulation
  const run = <T>(folder: string, work: () => Promise<T>): Promise<T> =>
    simulation.run(name, folder, () => asFunction(folder, work))
  const context = (seconds: number) => contextOf({ clock, entropy }, seconds)
  const carryTo = net.carryFrom(name)
  const [operating, journaling] = [as('on-operation'), as('on-journal')]
  const connect = createPeerConnector(carryTo, operating)
  const onOperation = createOperationHandler(operating, connect)
  let broken: string | undefined
  const invoke = (event: object) =>
    run('on-operation', async () => {
      if ('step' in event && event.step === broken) throw new Error('the function is broken')
      return onOperation(event, context(WORKER_S))
    })
  const notify = createNotifier(journaling, carryTo)
  const pulling: ReturnType<typeof createPullHandler> = (...given) =>
    createPullHandler(as('on-pull'), carryTo, as('on-pull', ' trying'))(...given)
  const journal = (event: object) => run('on-journal', () => createJournalHandler(journaling, notify)(event))
  return {
    connect,
    workflow: workflowDriver({ invoke, clock, start }),
    /** makes one step of operations fail; absent: no step fails */
    breakStep: (step?: string): void => {
      broken = step
    },
    /** runs a background job, at most three times until it succeeds */
    job: async (payload: unknown): Promise<void> => {
      const work = () => createJobHandler(as('on-job'))(payload, context(WORKER_S))
      for (let tries = 1; ; tries++)
        try {
          return await run('on-job', work)
        } catch (error) {
          if (tries === 3) throw error
          await clock.sleep(tries * 60_000)
        }
    },
    /** a short run of the puller, or a run that another event starts */
    pull: (ms = PULL_MS, event: object = {}) =>
      run('on-pull', () => pulling(event, context(ms / 1000 + REST_S))),
    /** runs the work of on-pull that the host waits for before it serves again */
    returns: () => run('on-pull', () => pulling(HOST_RETURNS, context(WORKER_S))),
    /** runs the work of the hourly schedule */
    hour: () =>
      run('on-tidy-schedule', () => createHourlyHandler(as('on-tidy-schedule'))({}, context(WORKER_S))),
    /** runs the work of on-journal every minute; the first hashes of a tree cost a thousand calls */
    minute: async ({ hashes = false } = {}): Promise<void> => {
      if (hashes) {
        await journal({})
        return journal(HOST_REFRESHES)
      }
      await run('on-journal', async () => {
        await handleRestoredCopy(journaling)
        await maintainOperation(journaling)
        await finishStepDown(journaling)
        await maintainReencryption(journaling)
        await sendRoleEvents(journaling)
        await fillJournalHoles(journaling, 'all')
        await trimJournal(journaling)
      })
    },
    /** runs the work of on-journal every minute, with hashes at the pace of AWS */
    scheduled: () => journal({}),
    /** runs the work of on-journal after journal entries were written */
    streamed: (records: readonly object[] = []) => journal({ Records: records }),
  }
}

/** Passes requests to the functions of a cluster. */
function requester({ name, model, simulation, entropy, answered }: MemberSettings, as: As) {
  const handlers = new Map(
    endpointGroups.map(group => [group.name, createGroupHandler(group, as(group.name))]),
  )
  const folders = new Map(model.functions.map(one => [one.name, one.folder]))
  const find = routing(model)
  return async (method: string, path: string, body: unknown, options: CallOptions): Promise<Reply> => {
    const event = frontEvent(`${addressFor(name)}/v1`, method, path, body, options)
    const found = find(method, event)
    const folder = folders.get(found) ?? found
    const handler = handlers.get(folder)
    if (!handler) throw new Error(`no function serves ${method} ${path}`)
    const context = contextOf({ clock: simulation.clock, entropy }, API_S)
    return simulation.run(name, 'api', async () => {
      const answer = await asFunction(folder, () => handler(event, context) as Promise<unknown>)
      const reply = checked(method, path, replyOf(answer as FrontAnswer))
      answered(name, `${method} ${path}`, reply.status)
      return reply
    })
  }
}
