import { expect, test } from 'vitest'
import { logLicenceExpiry } from '../../../shared/system/license-status.ts'
import type { MetricMeasures } from '../../../shared/watching/metrics.ts'
import { licenceKey, licenceText } from '../../builders/licence.ts'
import { portsWith } from '../../builders/ports.ts'

const DAY = 86_400
const NOW = 1_800_000_000
const { privateKey, publicKey } = licenceKey()

test.each([
  ['a month and more', 31, ['info', 31]],
  ['less than a month', 29.5, ['warn', 29]],
  ['a day', 1, ['warn', 1]],
  ['none, and a bit', -0.5, ['warn', -1]],
])(
  'the remaining days of a licence valid for %s are logged each hour, with or without a warning',
  (_, days, expected) => {
    const lines: unknown[] = []
    const write = (level: string) => (_message: string, fields: object, measures: MetricMeasures) =>
      void lines.push([level, measures.LicenceDays, fields])
    const text = licenceText(privateKey, { exp: NOW + days * DAY })
    logLicenceExpiry(
      portsWith({
        deployment: { license: { text, publicKey } },
        clock: { now: () => NOW * 1000 },
        log: { info: write('info'), warn: write('warn') },
      }),
    )
    expect(lines).toEqual([[...expected, expect.objectContaining({ days: expected[1] })]])
  },
)

test('nothing is logged without a licence', () => {
  const log = { warn: () => expect.unreachable(), info: () => expect.unreachable() }
  logLicenceExpiry(portsWith({ deployment: { license: { text: '', publicKey: '' } }, log }))
})
