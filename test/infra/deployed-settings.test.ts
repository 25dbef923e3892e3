import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterAll, describe, expect, test } from 'vitest'
import { createLocalAuthority } from '../../infra/local/gateway/tls.ts'
import { readSettings, settingsSchema } from '../../infra/settings.ts'
import { createSettingGroups, settingGaps } from '../deployed/settings.ts'

const authorities = mkdtempSync(`${tmpdir()}/cloud-auth-authorities-`)
afterAll(() => rmSync(authorities, { recursive: true }))
writeFileSync(`${authorities}/own.pem`, createLocalAuthority('an organisation').cert)
const settingGroups = createSettingGroups({
  keyArn: 'arn:aws:kms:us-east-1:111122223333:key/11111111-1111-1111-1111-111111111111',
  zoneId: 'Z0123456789',
  authorities,
  fingerprint: 'a'.repeat(40),
})

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
