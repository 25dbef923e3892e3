import type { DrillRecord } from '../../model/drill.ts'
import { key } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'
import { type OperationStepResult, STEP_DONE } from '../operation/run.ts'
import { createDrillRecord, type DrillRun, noteDrillProgress, readDrill } from './run.ts'
import { adviceForStep } from './steps.ts'

/** Milliseconds after which a running drill counts as dead, so that another drill may begin. */
const LONGEST_DRILL_MS = 2 * 3_600_000

/**
 * Stores the beginning of a drill.
 * @returns false if this cluster is not the primary, or another drill is running
 */
export async function beginDrill(run: DrillRun, id: string): Promise<boolean> {
  const { store, clock } = run.ports
  const now = clock.now()
  const [record, last] = await store.read([key('cluster'), key('drill')])
  if (last?.data.id === id) return true
  if (record?.data.mode !== 'primary') return false
  if (last?.data.status === 'running' && now - last.data.startedAt < LONGEST_DRILL_MS) return false
  await noteDrillProgress(run, last, createDrillRecord(id, now))
  return true
}

/**
 * Ends the drill, and sends the drill's result as event and metric. If storing the end fails, the next run sends
 * event and metric again.
 */
export async function reportDrill(run: DrillRun, id: string): Promise<OperationStepResult> {
  const item = await readDrill(run, id)
  if (item.data.status === 'running') await sendResult(run, item, { ...item.data, status: 'done' })
  return STEP_DONE
}

/** Stops the drill. @param text the reason for stopping */
export async function stopDrill(run: DrillRun, id: string, text: string): Promise<OperationStepResult> {
  const [item] = await run.ports.store.read([key('drill')])
  // a drill that never began has no result
  if (item?.data.id !== id) return STEP_DONE
  const { status, step } = item.data
  if (status === 'running')
    await sendResult(run, item, { ...item.data, status: step === 'check' ? 'refused' : 'stopped', text })
  return STEP_DONE
}

async function sendResult(
  run: DrillRun,
  item: Parameters<typeof noteDrillProgress>[1],
  drill: DrillRecord,
): Promise<void> {
  const { ports } = run
  const now = ports.clock.now()
  const [record] = await ports.store.read([key('cluster')])
  const { id: cluster = '', name = '', set = '' } = record?.data ?? {}
  const { status: result, there, back, step, text = '', startedAt } = drill
  const next = result === 'done' ? '' : adviceForStep(step)
  const detail = {
    cluster,
    name,
    set,
    drill: drill.id,
    result,
    step,
    text,
    next,
    took: now - startedAt,
    unserved: [there.unserved, back.unserved],
    lost: [there.lost, back.lost],
  }
  await ports.events.put([{ type: 'DR drill', time: formatTime(now), detail }])
  const line = result === 'done' ? ports.log.info : ports.log.error
  line('drill', { ...detail, ...toDrillMetrics(drill, name, now) })
  await noteDrillProgress(run, item, drill)
}

/**
 * Returns the fields of a log line from which CloudWatch makes metrics.
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
function toDrillMetrics({ status, there, back, startedAt }: DrillRecord, name: string, now: number) {
  const isKnown = (value: number | null) => value !== null
  const unserved = [there.unserved, back.unserved].filter(isKnown)
  const lost = [there.lost, back.lost].filter(isKnown)
  const values = {
    DrillSucceeded: status === 'done' ? 1 : 0,
    ...(unserved.length > 0 && { DrillUnserved: Math.max(...unserved) }),
    ...(lost.length > 0 && { DrillLost: lost.reduce((sum, one) => sum + one) }),
    DrillDuration: now - startedAt,
  }
  const Metrics = Object.keys(values).map(Name => ({
    Name,
    Unit: MILLISECONDS.includes(Name) ? 'Milliseconds' : 'Count',
  }))
  return {
    _aws: {
      Timestamp: now,
      CloudWatchMetrics: [{ Namespace: 'cloud-auth', Dimensions: [['Cluster']], Metrics }],
    },
    Cluster: name,
    ...values,
  }
}

const MILLISECONDS = ['DrillUnserved', 'DrillDuration']
