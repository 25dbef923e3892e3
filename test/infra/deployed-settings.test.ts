import { describe, expect, test } from 'vitest'
import { readSettings, settingsSchema } from '../../infra/settings.ts'
import { settingGaps, settingGroups } from '../deployed/settings.ts'

const documented = Object.keys(settingsSchema.entries)
const deployed = Object.values(settingGroups).flatMap(Object.keys)

describe('the settings that are deployed into the emulated account', () => {
  test('are all settings, apart from the gaps', () => {
    expect([...new Set([...deployed, ...Object.keys(settingGaps)])].sort()).toEqual(documented.sort())
    expect(deployed.filter(name => name in settingGaps)).toEqual([])
  })

  test.each(Object.entries(settingGroups))(
    'of the group %s are valid, and differ from their defaults',
    (stage, group) => {
      const [given, defaults] = [readSettings({ stage, ...group }), readSettings({ stage })]
      for (const name of Object.keys(group))
        expect(given[name as keyof typeof given], name).not.toEqual(defaults[name as keyof typeof defaults])
    },
  )
})
