import {
  acceptedAnswer,
  answer,
  answerAfterChanges,
  type CallOutcome,
  dataAnswer,
  type MountCall,
  noContentAnswer,
} from '../../api/call.ts'
import { boolField, durationField } from '../../api/fields.ts'
import { deleteSubject, requireSubject, subjectKeyOf, subjectOf } from '../../api/subject.ts'
import type { TidySettings } from '../../model/tidy.ts'
import { replaceItem } from '../../storage/changes.ts'
import { key } from '../../storage/kinds.ts'
import { formatTime } from '../../values/time.ts'
import { tidyListStart } from './restamp.ts'
import { startTidyRun } from './run.ts'
import { defaultTidySettings, SAFETY_BUFFER_SECONDS, type TidyList, tidyLists } from './settings.ts'

export const tidySettingsFields = {
  safety_buffer: durationField(
    'Time that must pass after an entry’s expiration before it is removed; default 72h',
  ),
  disable_periodic_tidy: boolField('Switch off the hourly tidy of the list; tidy/<list> still works'),
}

export const tidyFields = { safety_buffer: tidySettingsFields.safety_buffer }

/** Handles POST config/tidy/<list>. Fields that the request leaves out keep their values. */
export const createTidySettingsWriter =
  (list: TidyList) =>
  (call: MountCall<typeof tidySettingsFields>): CallOutcome => {
    const stored = subjectOf(call, 'tidy-settings')
    const before = stored?.data ?? defaultTidySettings
    const next: TidySettings = {
      safetyBuffer: call.parameters.safety_buffer ?? before.safetyBuffer,
      disablePeriodicTidy: call.parameters.disable_periodic_tidy ?? before.disablePeriodicTidy,
    }
    const same =
      stored &&
      next.safetyBuffer === before.safetyBuffer &&
      next.disablePeriodicTidy === before.disablePeriodicTidy
    if (same) return answer(noContentAnswer())
    return restamped(
      call,
      list,
      answerAfterChanges([replaceItem(subjectKeyOf(call, 'tidy-settings'), stored, next)]),
    )
  }

/** Handles GET config/tidy/<list>. */
export function readTidySettings(call: MountCall): CallOutcome {
  const { safetyBuffer, disablePeriodicTidy } = requireSubject(call, 'tidy-settings').data
  return answer(dataAnswer({ safety_buffer: safetyBuffer, disable_periodic_tidy: disablePeriodicTidy }))
}

/** Handles DELETE config/tidy/<list>, which restores the default settings. */
export const createTidySettingsReset =
  (list: TidyList) =>
  (call: MountCall): CallOutcome =>
    restamped(call, list, deleteSubject(call))

/**
 * Starts a job that updates the entries' deletion times, which follow from the settings. The hourly run checks the
 * result of this tidy run.
 */
const restamped = (call: MountCall, list: TidyList, outcome: CallOutcome): CallOutcome => ({
  ...outcome,
  afterwards: () =>
    call.ports.background.start({
      job: 'restamp',
      mount: call.mount.accessor,
      list,
      ...tidyListStart,
    }),
})

const RUNNING = 'a tidy of this list is already running'
const STARTED = 'tidy was started; tidy-status shows its progress, and the log shows failures'

/** Handles POST tidy/<list>: starts a run, even if periodic tidying is disabled. @see docs/spec/configuration.md#tidying */
export const createTidyStarter =
  (list: TidyList) =>
  async (call: MountCall<typeof tidyFields>): Promise<CallOutcome> => {
    const { ports } = call
    const mount = call.mount.accessor
    const buffer = call.parameters.safety_buffer ?? SAFETY_BUFFER_SECONDS
    if (!(await startTidyRun(ports, call.cluster, { mount, list, buffer })))
      return answer(noContentAnswer([RUNNING]))
    return answer(acceptedAnswer(STARTED))
  }

/** Handles GET tidy-status, which Vault does not have: the last and the next run over each list. */
export async function readTidyStatus(call: MountCall): Promise<CallOutcome> {
  const mount = call.mount.accessor
  const { store } = call.ports
  const runs = await store.read(tidyLists.map(list => key('tidy-run', mount, list)))
  const settings = await store.read(tidyLists.map(list => key('tidy-settings', mount, list)))
  const status = tidyLists.map((list, index) => {
    const run = runs[index]?.data
    const scheduled = !settings[index]?.data.disablePeriodicTidy
    const at = (ms: number | undefined) => (ms ? formatTime(ms) : null)
    return [
      list.replace('-', '_'),
      {
        running: (run?.leaseUntil ?? 0) > call.now,
        last_start: at(run?.startedAt),
        last_end: at(run?.endedAt),
        removed: run?.removed ?? 0,
        failed: run?.failed ?? 0,
        next_run: at(scheduled ? run?.nextAt : undefined),
      },
    ] as const
  })
  return answer(dataAnswer(Object.fromEntries(status)))
}
