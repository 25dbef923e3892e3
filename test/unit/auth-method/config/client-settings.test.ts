import { describe, expect, test } from 'vitest'
import { readParameterFields } from '../../../../shared/api/fields.ts'
import { clientSettingFields } from '../../../../shared/auth-method/config/client-setting-fields.ts'
import {
  clientSettingsAnswer,
  defaultClientSettings,
  mergeClientSettings,
  selectCallSettings,
} from '../../../../shared/auth-method/config/client-settings.ts'

/** Returns a value other than the neutral one. */
function otherThan(neutral: unknown, name: string): unknown {
  if (typeof neutral === 'boolean') return !neutral
  if (typeof neutral === 'number') return 7
  if (typeof neutral !== 'string') return ['X-Other']
  return name.endsWith('endpoint') ? 'https://aws.example.com' : 'other'
}

const written = (raw: Record<string, unknown>, stored = defaultClientSettings) =>
  mergeClientSettings(stored, readParameterFields(clientSettingFields, raw).parameters, false)

describe('a setting of the AWS calls', () => {
  const neutral = clientSettingsAnswer(defaultClientSettings)

  test.each(Object.keys(clientSettingFields))(
    'the setting %s reads back as sent, changes no other setting, and is kept',
    name => {
      const value = otherThan(neutral[name], name)
      const stored = written({ [name]: value })
      expect(clientSettingsAnswer(stored)).toEqual({ ...neutral, [name]: value })
      expect(written({}, stored)).toEqual(stored)
    },
  )

  test('a setting missing in the stored configuration has its neutral value', () => {
    const { maxRetries: _, ...old } = defaultClientSettings
    const stored = old as typeof defaultClientSettings
    expect(clientSettingsAnswer(stored)).toEqual(neutral)
    expect(written({}, stored)).toEqual(defaultClientSettings)
    expect(selectCallSettings(stored)).toMatchObject({ maxRetries: -1 })
  })

  test('only settings marked forCalls reach the AWS clients', () => {
    expect(Object.keys(selectCallSettings(defaultClientSettings)).sort()).toEqual([
      'endpoint',
      'iamEndpoint',
      'maxRetries',
      'stsEndpoint',
      'stsRegion',
    ])
  })
})
